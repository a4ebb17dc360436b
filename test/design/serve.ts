import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { extname } from 'node:path'
import { webPagePolicy } from '@nodekeep/plugin-sdk'
import { bundleDesign } from '../bundle/design.ts'

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
}

/**
 * Serves the page that shows all parts of the pages, to this machine, with the policy of the node's pages.
 *
 * @param port 0 for any
 */
export async function serveDesign(port: number): Promise<{ readonly url: URL; close(): void }> {
  const files = await bundleDesign()
  const server = createServer(({ url = '/' }, answer) => {
    const name = url === '/' ? 'index.html' : url.slice(1)
    const content = files.get(name)
    if (content === undefined) return answer.writeHead(404).end()
    answer.writeHead(200, {
      'content-type': types[extname(name)],
      'content-security-policy': webPagePolicy,
    })
    return answer.end(content)
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  const { port: bound } = server.address() as AddressInfo
  const close = () => {
    server.close()
    server.closeAllConnections()
  }
  return { url: new URL(`http://127.0.0.1:${bound}/`), close }
}
