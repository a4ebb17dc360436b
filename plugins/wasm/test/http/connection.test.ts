import { once } from 'node:events'
import { connect } from 'node:net'
import t from 'tap'
import { createQueueStand } from '../fixtures/queue-stand.ts'
import { callFile } from '../fixtures/wasm-node.ts'

t.test('a connection that ends takes its call with it', async (t) => {
  const { runtime, node, people } = await createQueueStand(t)
  const [ada] = people
  const body = (number: number) => JSON.stringify({ filepath: '/m.wasm', function: 'hold', args: [number] })
  const request = (number: number) =>
    [
      'POST /api/wasm/execute-file HTTP/1.1',
      'host: node',
      `authorization: Bearer ${ada.token}`,
      'content-type: application/json',
      `content-length: ${body(number).length}`,
      '',
      body(number),
    ].join('\r\n')
  const socket = connect(Number(node.url.port), node.url.hostname)
  await once(socket, 'connect')
  socket.write(request(1))
  const left = await runtime.begun(1)
  const stays = callFile(ada, '/m.wasm', 'hold', [4])
  const { answer, signal } = await runtime.begun(2)
  socket.destroy()
  if (!left.signal.aborted) await once(left.signal, 'abort')
  t.notOk(signal.aborted, 'that of another connection goes on')
  answer(4)
  t.equal((await stays).text, '{"success":true,"result":4}')
})
