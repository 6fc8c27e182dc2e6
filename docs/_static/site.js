// A live view is loaded when the reader reaches it: some views scroll the page to themselves when they start.
const reached = new IntersectionObserver(
  (entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      reached.unobserve(target);
      target.src = target.dataset.src;
    }
  },
  { rootMargin: "-15% 0px" },
);
for (const frame of document.querySelectorAll("iframe.live")) reached.observe(frame);
