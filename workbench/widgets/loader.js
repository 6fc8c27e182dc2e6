// The module of each widget, as anywidget loads it. The views themselves are in one script, which a page gets once, as the
// state of a model that all widgets of a kernel name.
const scripts = (globalThis.tvmWorkbenchScripts ??= new Map());

async function load(manager, id) {
  for (let tries = 1; ; tries++) {
    try {
      const model = await manager.get_model(id);
      const url = URL.createObjectURL(new Blob([model.get("code")], { type: "text/javascript" }));
      return await import(url).finally(() => URL.revokeObjectURL(url));
    } catch (error) {
      // a page that is opened again makes its models in any order
      if (tries === 50) throw error;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}

export default {
  async render(given) {
    const id = given.model.get("_script").slice("IPY_MODEL_".length);
    if (!scripts.has(id)) scripts.set(id, load(given.model.widget_manager, id));
    try {
      const { default: views } = await scripts.get(id);
      return views.render(given);
    } catch (error) {
      scripts.delete(id);
      throw error;
    }
  },
};
