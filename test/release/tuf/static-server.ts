import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join, normalize } from 'node:path'
import { pipeline } from 'node:stream/promises'

/** A server of the files of a folder, on loopback. */
interface StaticServer {
  /** Without a slash at its end. */
  readonly url: string
  close(): Promise<void>
}

/** Serves the files of a folder, as any static file server does: `GET`, and 404 for everything that is no file. */
export async function serveFolder(folder: string): Promise<StaticServer> {
  const server = createServer(async ({ url = '' }, response) => {
    const file = join(folder, normalize(decodeURIComponent(new URL(url, 'http://localhost').pathname)))
    const found = await stat(file).catch(() => undefined)
    if (!found?.isFile()) {
      response.writeHead(404).end()
      return
    }
    response.writeHead(200, { 'content-length': found.size })
    await pipeline(createReadStream(file), response).catch(() => response.destroy())
  })
  // The process may end without closing it.
  server.listen(0, '127.0.0.1').unref()
  await new Promise((resolve, reject) => server.once('listening', resolve).once('error', reject))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
