import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'

/** Another server on this machine, to which no redirect may lead. */
export type Elsewhere = Awaited<ReturnType<typeof startElsewhere>>

/** Starts another server on this machine. It counts its connections, and closes them. */
export async function startElsewhere() {
  let visits = 0
  const server = createServer((socket) => {
    visits += 1
    socket.destroy()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/elsewhere`,
    visits: () => visits,
    async stop() {
      server.close()
      await once(server, 'close')
    },
  }
}
