import { createRequire } from 'node:module'

/**
 * The parts of Node's HTTP that the kernel uses. An `import` of `node:http` reads all of its exports, and one of them
 * loads Node's HTTP client: 4 MB of memory and 12 ms of each start, for a client that the node may never use.
 */
export const { createServer, METHODS, STATUS_CODES, validateHeaderName, validateHeaderValue } = createRequire(
  import.meta.url,
)('node:http') as typeof import('node:http')
