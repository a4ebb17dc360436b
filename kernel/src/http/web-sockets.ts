import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import type { WebSocket } from '@fastify/websocket'
import { invalid } from '@nodekeep/plugin-sdk'
import type { FastifyInstance, preHandlerHookHandler, RouteOptions } from 'fastify'
import { publicError } from '../errors/public-error.ts'
import { closeLingering } from './closing.ts'
import { writeErrorToSocket } from './write-error.ts'

/** The WebSockets of one plugin. */
export interface WebSockets {
  /** Tells every client that the node is going away (RFC 6455, status 1001). The close cuts off those that stay. */
  dismiss(): void
}

const goingAway = 1001
const policyViolation = 1008

/** Milliseconds for the client to close its side, too. */
const closeMs = 1000

/** The WebSockets that upgraded requests became. */
const clients = new WeakMap<IncomingMessage, WebSocket>()

/** Bytes of one message. Bulk data belongs in HTTP bodies, which are streamed. */
const maxPayload = 1024 * 1024

/**
 * Returns whether a request took its connection away from HTTP. No other request can follow it, whatever the answer.
 */
export function isUpgrade(request: IncomingMessage & { upgrade?: boolean }): boolean {
  return request.upgrade === true
}

/**
 * Ends the WebSocket that a request became, because its session has ended (RFC 6455, status 1008). A client that does
 * not close its side within a second is cut off. Nothing happens to other requests.
 */
export function endWebSocket(request: IncomingMessage): void {
  if (!isUpgrade(request)) return
  const client = clients.get(request)
  if (client === undefined) {
    request.socket.destroy()
    return
  }
  client.close(policyViolation, 'The session has ended.')
  cutLater(client)
}

/** Gives a client time to read why its WebSocket closes. */
function cutLater(client: WebSocket): void {
  setTimeout(() => client.terminate(), closeMs).unref()
}

/**
 * Cuts off the WebSocket that a request became.
 *
 * @returns whether the request had become a WebSocket
 */
export function cutWebSocket(request: IncomingMessage): boolean {
  const client = clients.get(request)
  client?.terminate()
  return client !== undefined
}

/** Makes an instance take WebSockets. The library is loaded only for plugins that want them. */
export async function createWebSockets(instance: FastifyInstance): Promise<WebSockets> {
  const { default: websocket } = await import('@fastify/websocket')
  instance.addHook('onRoute', requireUpgrade)
  const ids = new WeakMap<IncomingMessage, string>()
  instance.addHook('onRequest', (request, _reply, done) => {
    if (isUpgrade(request.raw)) ids.set(request.raw, request.id)
    done()
  })
  // The library ends the connections that it has refused itself, but not those refused before.
  instance.addHook('onResponse', (request, _reply, done) => {
    if (isUpgrade(request.raw)) closeLingering(request.raw.socket)
    done()
  })
  await instance.register(websocket, {
    options: { maxPayload },
    errorHandler: (error, client, { log }) => {
      log.error(error)
      // After a fault of the client, the library has sent it the status. Not every kind of connection has passed that on yet.
      if (client.readyState === client.CLOSING) cutLater(client)
      else client.terminate()
    },
    preClose: (done) => {
      for (const client of instance.websocketServer.clients) client.terminate()
      instance.websocketServer.close(() => done())
    },
  })
  instance.websocketServer.on('connection', (client: WebSocket, request: IncomingMessage) =>
    clients.set(request, client),
  )
  instance.websocketServer.on('wsClientError', (_error: Error, socket: Duplex, request: IncomingMessage) =>
    writeErrorToSocket(socket, badHandshake, ids.get(request) ?? ''),
  )
  return {
    dismiss() {
      for (const client of instance.websocketServer.clients) client.close(goingAway, 'The node is stopping.')
    },
  }
}

const badHandshake = publicError('VALIDATION_ERROR', 'This is not a WebSocket handshake of version 13.', {
  'sec-websocket-version': '13',
})

/** Answers an ordinary request to the path of a WebSocket with an error that says so. */
function requireUpgrade(route: RouteOptions & { websocket?: boolean }): void {
  if (route.websocket !== true) return
  route.preHandler = [route.preHandler ?? [], refuseOrdinary].flat()
}

const refuseOrdinary: preHandlerHookHandler = (request, _reply, done) => {
  if (request.ws) done()
  else done(invalid('This path takes WebSocket connections only.'))
}
