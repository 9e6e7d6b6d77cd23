export default () => globalThis.tearDownTestRun?.();
