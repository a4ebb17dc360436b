import t from 'tap'
import { createQueueNode } from '../fixtures/queue-stand.ts'
import { createWasmNode, post, readAnswer, store } from '../fixtures/wasm-node.ts'

t.test('a program gets the input of its request, and the answer has exactly four fields', async (t) => {
  const { runtime, users } = await createQueueNode(t)
  const [ada] = users
  runtime.result = { exitCode: 0, stdout: Buffer.from('grüße\n'), stderr: Buffer.from('note') }
  const body = {
    filepath: '/m.wasm',
    args: ['-v', '', 'ä'],
    env: { NAME: 'Ada', constructor: 'x', EMPTY: '' },
    stdin: 'in ✓',
  }
  const response = await readAnswer(post(ada, 'run', body))
  t.equal(response.text, '{"success":true,"exitCode":0,"stdout":"grüße\\n","stderr":"note"}')
  const [ran] = runtime.programs
  t.strictSame(ran?.program.args, body.args)
  t.strictSame({ ...ran?.program.env }, body.env)
  t.equal(Buffer.from(ran?.program.stdin ?? []).toString(), body.stdin)
  t.strictSame(ran?.program.preopens, [])
  t.equal(Buffer.from((await ran?.module.bytes()) ?? []).toString(), 'a module')

  await readAnswer(post(ada, 'run', { wasmBytes: Buffer.from('another').toString('base64') }))
  const { module, program } = runtime.programs[1] as (typeof runtime.programs)[number]
  t.equal(Buffer.from(await module.bytes()).toString(), 'another')
  t.strictSame([program.args, { ...program.env }, program.stdin.length], [[], {}, 0])
})

t.test('an exit code other than 0 is answered without success', async (t) => {
  const { runtime, users } = await createQueueNode(t)
  runtime.result = { exitCode: 3, stdout: Buffer.from(''), stderr: Buffer.from('no') }
  const response = await readAnswer(post(users[0], 'run', { filepath: '/m.wasm' }))
  t.strictSame(
    [response.status, response.text],
    [200, '{"success":false,"exitCode":3,"stdout":"","stderr":"no"}'],
  )
})

t.test('output that is not UTF-8 is returned exactly as base64', async (t) => {
  const { runtime, users } = await createQueueNode(t)
  const bytes = Buffer.from([0x41, 0xff, 0xfe, 0x00, 0xef, 0xbb, 0xbf, 0x42])
  runtime.result = { exitCode: 0, stdout: bytes, stderr: bytes.subarray(1, 2) }
  const text = await readAnswer(post(users[0], 'run', { filepath: '/m.wasm' }))
  t.match(text.body, { stdout: 'A\ufffd\ufffd\0\ufeffB', stderr: '\ufffd' })
  const request = { filepath: '/m.wasm', encoding: 'base64', stdin: bytes.toString('base64') }
  const exact = await readAnswer(post(users[0], 'run', request))
  t.match(exact.body, { stdout: bytes.toString('base64'), stderr: '/w==' })
  t.strictSame(Buffer.from(runtime.programs[1]?.program.stdin ?? []), bytes)
})

t.test('a program gets folders of its user under the requested paths', async (t) => {
  const { runtime, users } = await createQueueNode(t)
  const [ada, bob] = users
  await store(ada, '/docs/a.txt', Buffer.from("Ada's"))
  await store(ada, '/photos/b', Buffer.from(''))
  const folders = [
    { path: '/docs', as: '/in' },
    { path: '/photos', writable: true },
  ]
  t.equal((await readAnswer(post(ada, 'run', { filepath: '/m.wasm', folders }))).status, 200)
  const preopens = runtime.programs[0]?.program.preopens ?? []
  t.strictSame(
    preopens.map(({ guestPath, path, writable }) => ({ guestPath, path, writable })),
    [
      { guestPath: '/in', path: '/docs', writable: false },
      { guestPath: '/photos', path: '/photos', writable: true },
    ],
  )
  t.equal((await preopens[0]?.files.stat('/docs/a.txt'))?.size, 5)
  const others = await readAnswer(post(bob, 'run', { filepath: '/m.wasm', folders }))
  t.match(others, { status: 404, body: { code: 'NOT_FOUND', message: /"\/docs"/ } })
})

t.test('folders that are missing, invalid or overlap are refused', async (t) => {
  const { runtime, users } = await createQueueNode(t)
  const [ada] = users
  await store(ada, '/a/b/c.txt', Buffer.from(''))
  await store(ada, '/ab/c.txt', Buffer.from(''))
  const wrong: readonly (readonly [folders: readonly unknown[], status: number, message: RegExp])[] = [
    [[{ path: '/none' }], 404, /nothing at "\/none"/],
    [[{ path: '/a/b/c.txt' }], 400, /is a file/],
    [[{ path: '/../etc' }], 400, /"\.\."/],
    [[{ path: 'a' }], 400, /begin with/],
    ...['', 'data', '/data/', '//data', '/data/../etc', '/./data', '/da\0ta', '/\ud800'].map(
      (as) => [[{ path: '/a', as }], 400, /"as" must be an absolute path/] as const,
    ),
    [[{ path: '/a' }, { path: '/ab', as: '/a' }], 400, /one folder within another/],
    [
      [
        { path: '/a', as: '/x/y' },
        { path: '/ab', as: '/x' },
      ],
      400,
      /one folder within another/,
    ],
    [
      [
        { path: '/a', as: '/' },
        { path: '/ab', as: '/x' },
      ],
      400,
      /one folder within another/,
    ],
    [
      [
        { path: '/a', as: '/x', writable: true },
        { path: '/a/b', as: '/y' },
      ],
      400,
      /must not overlap/,
    ],
    [
      [
        { path: '/a', as: '/x' },
        { path: '/', as: '/y', writable: true },
      ],
      400,
      /must not overlap/,
    ],
    [
      [
        { path: '/a', as: '/x', writable: true },
        { path: '/a', as: '/y' },
      ],
      400,
      /must not overlap/,
    ],
  ]
  for (const [folders, status, message] of wrong) {
    const response = await readAnswer(post(ada, 'run', { filepath: '/m.wasm', folders }))
    t.match(response, { status, body: { error: true, message } }, JSON.stringify(folders))
  }
  t.strictSame(runtime.programs, [])
  const fine = [
    { path: '/a', as: '/x' },
    { path: '/a/b', as: '/xy' },
    { path: '/ab', as: '/y', writable: true },
  ]
  t.equal((await readAnswer(post(ada, 'run', { filepath: '/m.wasm', folders: fine }))).status, 200)
})

t.test('a call without a runtime for it is refused with the reason', async (t) => {
  const node = await createWasmNode()
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  await store(ada, '/m.wasm', Buffer.from('a module'))
  const answers = [
    post(ada, 'run', { filepath: '/m.wasm' }),
    post(ada, 'execute-file', { filepath: '/m.wasm', function: 'f', args: [] }),
    post(ada, 'execute', { wasmBytes: '', function: 'f', args: [] }),
    ada.fetch('/api/wasm/exports?path=/m.wasm'),
  ]
  for (const answer of answers) {
    t.match(await readAnswer(answer), {
      status: 503,
      body: { code: 'SERVICE_UNAVAILABLE', message: /This node has no way to/ },
    })
  }
  t.match(await (await node.fetch('/health')).json(), { status: 'degraded' })
})
