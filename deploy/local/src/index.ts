export type { ClientFile } from './client-file.js';
export type { Home } from './home.js';
export { type ProcessName, type Stack, type StackOptions, startStack } from './stack.js';
