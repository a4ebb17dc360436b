import { createRequire } from 'node:module'

/**
 * The parts of Node's HTTP that the gateway uses. An `import` of `node:http` reads all of its exports, and one of them loads
 * `fetch`: 4 MB of memory that the gateway never uses.
 */
export const { createServer, request } = createRequire(import.meta.url)(
  'node:http',
) as typeof import('node:http')
