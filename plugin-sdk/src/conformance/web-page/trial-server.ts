import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { stripTypeScriptTypes } from 'node:module'
import type { AddressInfo } from 'node:net'
import { extname, join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { type WebPage, webPagePolicy } from '../../contracts/web-pages.ts'
import type { TrialOrder, TrialReport } from '../../protocol/page-trial.ts'
import { moduleBeside } from '../../threads.ts'

/** Sends a request of the page with the session of a user. */
type PageFetch = (path: string, init?: RequestInit) => Promise<Response>

/** A server with the document that tries a page. */
interface TrialServer extends AsyncDisposable {
  readonly url: string
  /** The report of the document. */
  readonly report: Promise<TrialReport>
}

/** The person who looks at the page. Characters in the name show whether it becomes HTML. */
const user = {
  uuid: '0c6bd6a3-7f0e-4d4c-9d5b-5f2b1f4c8a11',
  username: 'Ada <b>& "Grace"</b>',
  wallet: '0x0000000000000000000000000000000000000001',
  owner: true,
}

const document = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>A page on trial</title></head>
<body><main></main><script type="module" src="/trial.js"></script></body></html>`

/** The media types of files that pages have. A browser takes no script or style of another type. */
const mediaTypes: Readonly<Record<string, string>> = {
  '.css': 'text/css',
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.json': 'application/json',
  '.mjs': 'text/javascript',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.wasm': 'application/wasm',
  '.woff2': 'font/woff2',
}

/** Serves a page as the node does, and a document that tries it. All else goes to `fetch`. */
export async function serveTrial(
  name: string,
  page: WebPage,
  fetch: PageFetch,
  emptyMs: number,
): Promise<TrialServer> {
  const path = `/pages/${encodeURIComponent(name)}/`
  const order: TrialOrder = { module: path + page.module, user, emptyMs }
  const { promise: report, resolve } = Promise.withResolvers<TrialReport>()
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const { pathname } = new URL(request.url ?? '', 'http://node.invalid')
    const send = (type: string, body: string | Uint8Array) => {
      response.setHeader('content-type', type).end(body)
    }
    response.setHeader('content-security-policy', webPagePolicy)
    response.setHeader('x-content-type-options', 'nosniff')
    if (pathname === '/') return send('text/html', document)
    if (pathname === '/trial.js') return send('text/javascript', await trialScript())
    if (pathname === '/trial-order') return send('application/json', JSON.stringify(order))
    if (pathname === '/trial-report') {
      resolve(JSON.parse((await buffer(request)).toString()))
      return send('text/plain', '')
    }
    if (pathname.startsWith(path)) {
      const file = decodeURIComponent(pathname.slice(path.length))
      const type = mediaTypes[extname(file)] ?? 'application/octet-stream'
      return send(type, await readFile(join(page.folder, file)))
    }
    return forward(request, response, fetch)
  }
  const server = createServer((request, response) => {
    answer(request, response).catch(() => {
      if (!response.headersSent) response.statusCode = 404
      response.end()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    report,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

async function forward(request: IncomingMessage, response: ServerResponse, fetch: PageFetch): Promise<void> {
  const { method = 'GET', url = '/', headers } = request
  const left = new AbortController()
  response.on('close', () => left.abort())
  const type = headers['content-type']
  const answer = await fetch(url, {
    method,
    signal: left.signal,
    ...(type !== undefined && { headers: { 'content-type': type } }),
    ...(method !== 'GET' && method !== 'HEAD' && { body: new Uint8Array(await buffer(request)) }),
  })
  response.statusCode = answer.status
  response.setHeader('content-type', answer.headers.get('content-type') ?? 'application/octet-stream')
  for await (const chunk of answer.body ?? []) response.write(chunk)
  response.end()
}

/** The script runs from its source where the package was not compiled. */
async function trialScript(): Promise<string> {
  const file = moduleBeside(import.meta.url, '../../browser/page-trial')
  const source = await readFile(file, 'utf8')
  return file.pathname.endsWith('.ts') ? stripTypeScriptTypes(source) : source
}
