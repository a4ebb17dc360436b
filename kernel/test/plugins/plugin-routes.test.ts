import { createTestNode } from '@nodekeep/kernel/testing'
import { definePlugin, type Routes } from '@nodekeep/plugin-sdk'
import { test } from 'tap'

function start(register: Parameters<Routes>[0], options?: Parameters<Routes>[1]) {
  const mistaken = definePlugin({ id: 'mistaken', setup: ({ routes }) => routes(register, options) })
  return createTestNode({ plugins: [mistaken] })
}

test('a WebSocket route without the option webSockets is refused with an error that names the option', async (t) => {
  const message = /The route \/talk takes WebSockets\. Call routes\(\) with \{ webSockets: true \}/
  await t.rejects(
    start((app) => {
      app.get('/talk', { websocket: true }, (socket) => socket.send('hello'))
    }),
    { message },
  )
})

test('a prefix that is not a path is refused', async (t) => {
  const message = /The prefix "api\/notes" of routes must begin with "\/"/
  await t.rejects(
    start((app) => void app.get('/', async () => ''), { prefix: 'api/notes' }),
    { message },
  )
})
