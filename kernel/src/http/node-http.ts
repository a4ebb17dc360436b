import { createRequire } from 'node:module'

/**
 * What the kernel uses of Node's HTTP. An `import` of `node:http` reads all of its exports, and one of them brings
 * Node's HTTP client with it: 16 MB of memory and 30 ms of each start, for what nobody may ever call.
 */
export const { createServer, METHODS, STATUS_CODES, validateHeaderName, validateHeaderValue } = createRequire(
  import.meta.url,
)('node:http') as typeof import('node:http')
