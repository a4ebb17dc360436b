import type { FastifyInstance } from 'fastify'

/** The WebSockets of one plugin. */
export interface WebSockets {
  /** Tells every client that the node goes away (RFC 6455, status 1001). Who doesn't leave is cut off at the close. */
  dismiss(): void
}

const goingAway = 1001

/** Bytes of one message. Bulk data belongs into HTTP bodies, which are streamed. */
const maxPayload = 1024 * 1024

/** Makes an instance take WebSockets. The library is loaded for those that want them only. */
export async function createWebSockets(instance: FastifyInstance): Promise<WebSockets> {
  const { default: websocket } = await import('@fastify/websocket')
  await instance.register(websocket, {
    options: { maxPayload },
    preClose: (done) => {
      for (const client of instance.websocketServer.clients) client.terminate()
      instance.websocketServer.close(() => done())
    },
  })
  return {
    dismiss() {
      for (const client of instance.websocketServer.clients) client.close(goingAway, 'The node is stopping.')
    },
  }
}
