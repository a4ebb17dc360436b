export { type ErrorTextLimits, errorText } from './model-servers/bounded-body.ts'
export { limitLines, readJsonLines } from './model-servers/bounded-stream.ts'
export { cancellableReply } from './model-servers/cancellable-reply.ts'
export { modelNames } from './model-servers/model-names.ts'
export {
  type ModelServer,
  type ModelServerOptions,
  type ModelServerRequest,
  modelServer,
} from './model-servers/model-server.ts'
export { type ModelServerFailure, modelServerError } from './model-servers/model-server-error.ts'
export { readEvents, type ServerEvent } from './model-servers/server-events.ts'
