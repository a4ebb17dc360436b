import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import t from 'tap'
import { createQueueNode } from '../fixtures/queue-stand.ts'
import { callBytes, post, readAnswer } from '../fixtures/wasm-node.ts'

const megabyte = 1024 * 1024
const { runtime, node, users } = await createQueueNode(t, { moduleMB: 1 })

t.test('only base64 as the standard defines it is accepted', async (t) => {
  const ask = (wasmBytes: string) =>
    readAnswer(post(users[0], 'execute', { wasmBytes, function: 'same', args: [1] }))
  for (let length = 0; length < 8; length += 1) {
    t.equal((await ask(randomBytes(length).toString('base64'))).status, 200, `${length} bytes`)
  }
  const wrong = [
    'A',
    'AA',
    'AAA',
    'AAAAA',
    'AA=',
    'AA=A',
    'A===',
    '====',
    'AA==AA==',
    'AB==',
    'AAB=',
    '-_-_',
    '+/_A',
  ]
  for (const text of [...wrong, 'AAAA\n', '\nAAAAAAA', 'AAAA AAA', 'AAA\u00e9', 'AAAé', 'AA\0A']) {
    const response = await ask(text)
    t.match(response, { status: 400, body: { code: 'VALIDATION_ERROR', message: /not valid base64/ } }, text)
  }
})

t.test('a module of moduleMB is accepted, and one more byte is refused', async (t) => {
  const [ada] = users
  t.equal((await callBytes(ada, new Uint8Array(megabyte), 'same', [1])).text, '{"success":true,"result":1}')
  const tooLarge = await callBytes(ada, new Uint8Array(megabyte + 1), 'same', [1])
  t.match(tooLarge, { status: 413, body: { code: 'PAYLOAD_TOO_LARGE', message: /too large.*1048576 bytes/ } })
  const muchTooLarge = await callBytes(ada, new Uint8Array(8 * megabyte), 'same', [1])
  t.match(muchTooLarge, { status: 413, body: { code: 'PAYLOAD_TOO_LARGE' } })
})

t.test('the node bounds the memory of uploads, and refuses further uploads before they arrive', async (t) => {
  const [ada, bob] = users
  const upload = (user: typeof ada) => callBytes(user, randomBytes(megabyte), 'hold', [1])
  const uploads = Array.from({ length: 7 }, () => upload(ada))
  const refused = await Promise.race(uploads)
  t.match(refused, { status: 429, retryAfter: '1', body: { message: /being uploaded/ } })
  const others = upload(bob)
  for (let count = 1; count <= 7; count += 1) (await runtime.waitForCall(count)).answer(1)
  const statuses = (await Promise.all([...uploads, others])).map(({ status }) => status)
  t.strictSame(statuses.sort(), [...Array(7).fill(200), 429])

  const again = upload(ada)
  ;(await runtime.waitForCall(8)).answer(2)
  t.equal((await again).text, '{"success":true,"result":2}', 'the memory of the uploads was freed')
})

t.test('announced uploads that do not arrive block no other user', async (t) => {
  const [ada, bob, eve] = users
  const announce = async ({ token }: typeof ada) => {
    const socket = connect(Number(node.url.port), node.url.hostname)
    t.teardown(() => socket.destroy())
    socket.write(
      [
        'POST /api/wasm/execute HTTP/1.1',
        'host: node',
        `authorization: Bearer ${token}`,
        'content-type: application/json',
        'content-length: 2440000',
        'expect: 100-continue',
        '',
        '',
      ].join('\r\n'),
    )
    const [answer] = (await once(socket, 'data')) as [Buffer]
    return answer.toString().split(' ')[1]
  }
  const all = [ada, ada, ada, ada, bob, bob, bob, bob]
  const answers: (string | undefined)[] = []
  for (const user of all) answers.push(await announce(user))
  t.strictSame(answers, ['100', '100', '100', '100', '100', '100', '429', '429'])
  t.equal((await callBytes(eve, randomBytes(megabyte), 'same', [1])).status, 200)
  t.equal((await callBytes(eve, randomBytes(10), 'same', [1])).status, 200)
  t.equal((await callBytes(bob, randomBytes(10), 'same', [1])).status, 200)
})
