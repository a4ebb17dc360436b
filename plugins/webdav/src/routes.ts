import { changeHeaders, type RoutesApp, type Tokens } from '@nodekeep/plugin-sdk'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { basicChallenge, basicPassword } from './basic-password.ts'
import { type DavRequest, type DavServices, davRequest } from './dav-request.ts'
import { Locked } from './errors.ts'
import { lock, unlock } from './methods/lock.ts'
import { makeFolder } from './methods/make-folder.ts'
import { options, rootPropfind } from './methods/node-root.ts'
import { propfind } from './methods/propfind.ts'
import { proppatch } from './methods/proppatch.ts'
import { put } from './methods/put.ts'
import { read } from './methods/read.ts'
import { remove } from './methods/remove.ts'
import { transfer } from './methods/transfer.ts'
import { longestXml, xmlType } from './xml.ts'

type Method = (dav: DavRequest, body: Uint8Array) => Promise<FastifyReply>

const methods: Readonly<Record<string, Method>> = {
  GET: read,
  HEAD: read,
  DELETE: remove,
  PROPFIND: propfind,
  PROPPATCH: proppatch,
  MKCOL: makeFolder,
  COPY: (dav) => transfer(dav, 'copy'),
  MOVE: (dav) => transfer(dav, 'move'),
  LOCK: lock,
  UNLOCK: unlock,
}

/** Methods that Fastify does not know by itself. */
const ownMethods = ['PROPFIND', 'PROPPATCH', 'MKCOL', 'COPY', 'MOVE', 'LOCK', 'UNLOCK']

const noBody = new Uint8Array()

/** A large folder takes longer to copy, to move or to delete than an answer may take otherwise. */
const late: readonly string[] = ['COPY', 'MOVE', 'DELETE']

const config = { scope: 'webdav' }

/** Registers the routes of `/dav`, below that prefix. */
export function davRoutes(app: RoutesApp, services: DavServices, tokens: Tokens): void {
  const shared = prepare(app, tokens)
  for (const url of ['', '/*']) {
    app.route({ ...shared, method: 'OPTIONS', url, handler: (_request, reply) => options(reply) })
    for (const [method, answer] of Object.entries(methods))
      app.route({
        ...shared,
        config: { ...config, answersLate: late.includes(method) },
        method,
        url,
        ...(method === 'GET' && { exposeHeadRoute: false }),
        handler: (request, reply) => handle(services, request, reply, answer),
      })
  }
  app.register(async (raw: RoutesApp) => {
    raw.removeAllContentTypeParsers()
    raw.addContentTypeParser('*', (_request, _body, done) => done(null))
    for (const url of ['', '/*'])
      raw.route({
        ...shared,
        config: { ...config, body: 'stream' as const },
        method: 'PUT',
        url,
        handler: (request, reply) => handle(services, request, reply, put),
      })
  })
}

/** Registers the routes of `/` by which Windows finds `/dav`. */
export function rootRoutes(app: RoutesApp, tokens: Tokens): void {
  const shared = prepare(app, tokens)
  app.route({ ...shared, method: 'OPTIONS', url: '/', handler: (_request, reply) => options(reply) })
  app.route({
    ...shared,
    method: 'PROPFIND',
    url: '/',
    handler: (request, reply) => rootPropfind(request, reply),
  })
}

/** Lets routes take tokens as passwords, the methods of WebDAV and XML. */
function prepare(app: RoutesApp, tokens: Tokens) {
  tokens.accept(app, { read: basicPassword, challenge: basicChallenge })
  // The instances of a plugin share the list.
  const added = ownMethods.filter((method) => !app.supportedMethods.includes(method))
  for (const method of added) app.addHttpMethod(method, { hasBody: true })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: longestXml }, (_request, body, done) =>
    done(null, body),
  )
  const schema = { hide: true, headers: changeHeaders }
  return { schema, config, onRequest: takeAnyType, bodyLimit: longestXml }
}

async function handle(
  services: DavServices,
  request: FastifyRequest,
  reply: FastifyReply,
  answer: Method,
): Promise<FastifyReply> {
  try {
    const body = request.body instanceof Uint8Array ? request.body : noBody
    return await answer(await davRequest(services, request, reply), body)
  } catch (error) {
    if (!(error instanceof Locked)) throw error
    return reply.code(error.status).type(xmlType).send(error.body)
  }
}

/** The media type of a body does not matter, and need not be valid. Fastify would demand a valid one. */
async function takeAnyType({ raw }: FastifyRequest): Promise<void> {
  raw.headers['content-type'] = 'application/octet-stream'
}
