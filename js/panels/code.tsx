/** The Python that does with TVM alone what was clicked here. */
import { CopyButton } from "../components/copy.tsx";

export function CodeTab({ code, pipeline }: { code: string; pipeline: string }) {
  const shown = code || "Nothing to show yet.";
  return (
    <div class="wb-code-tab">
      <div class="wb-tools">
        <CopyButton text={shown} />
        <code class="wb-cut" title={pipeline}>
          {pipeline}
        </code>
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: text that scrolls needs the keyboard */}
      <pre class="wb-code" tabIndex={0} data-testid="code">
        {shown}
      </pre>
    </div>
  );
}
