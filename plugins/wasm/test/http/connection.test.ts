import { once } from 'node:events'
import { connect } from 'node:net'
import t from 'tap'
import { createQueueNode } from '../fixtures/queue-stand.ts'
import { callFile } from '../fixtures/wasm-node.ts'

t.test('a connection that closes aborts its call', async (t) => {
  const { runtime, node, users } = await createQueueNode(t)
  const [ada] = users
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
  const aborted = await runtime.waitForCall(1)
  const other = callFile(ada, '/m.wasm', 'hold', [4])
  const { answer, signal } = await runtime.waitForCall(2)
  socket.destroy()
  if (!aborted.signal.aborted) await once(aborted.signal, 'abort')
  t.notOk(signal.aborted, 'the call of another connection continues')
  answer(4)
  t.equal((await other).text, '{"success":true,"result":4}')
})
