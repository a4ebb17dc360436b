export { limitLines } from './model-servers/bounded-stream.ts'
export { modelNames } from './model-servers/model-names.ts'
export {
  type ModelServer,
  type ModelServerOptions,
  type ModelServerRequest,
  modelServer,
} from './model-servers/model-server.ts'
export type { ModelServerFailure } from './model-servers/model-server-error.ts'
export { readEvents, type ServerEvent } from './model-servers/server-events.ts'
export { statusOfError } from './model-servers/status-of-error.ts'
