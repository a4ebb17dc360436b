/** Parts of the SDK for threads that should load nothing else. They need nothing but Node. */
export { nameOf, parentOf } from './entry-paths.ts'
export { messageOf } from './error-text.ts'
export { conflict, isNodekeepError, NodekeepError } from './errors.ts'
