import t from 'tap'
import { createQueueStand } from '../fixtures/queue-stand.ts'
import { createWasmNode, post, store, told } from '../fixtures/wasm-node.ts'

t.test('a program gets what the request says, and its answer has exactly four fields', async (t) => {
  const { runtime, people } = await createQueueStand(t)
  const [ada] = people
  runtime.result = { exitCode: 0, stdout: Buffer.from('grüße\n'), stderr: Buffer.from('note') }
  const body = {
    filepath: '/m.wasm',
    args: ['-v', '', 'ä'],
    env: { NAME: 'Ada', constructor: 'x', EMPTY: '' },
    stdin: 'in ✓',
  }
  const heard = await told(post(ada, 'run', body))
  t.equal(heard.text, '{"success":true,"exitCode":0,"stdout":"grüße\\n","stderr":"note"}')
  const [ran] = runtime.programs
  t.strictSame(ran?.program.args, body.args)
  t.strictSame({ ...ran?.program.env }, body.env)
  t.equal(Buffer.from(ran?.program.stdin ?? []).toString(), body.stdin)
  t.strictSame(ran?.program.preopens, [])
  t.equal(Buffer.from((await ran?.module.bytes()) ?? []).toString(), 'a module')

  await told(post(ada, 'run', { wasmBytes: Buffer.from('mine').toString('base64') }))
  const { module, program } = runtime.programs[1] as (typeof runtime.programs)[number]
  t.equal(Buffer.from(await module.bytes()).toString(), 'mine')
  t.strictSame([program.args, { ...program.env }, program.stdin.length], [[], {}, 0])
})

t.test('an exit code other than 0 is an answer, and no success', async (t) => {
  const { runtime, people } = await createQueueStand(t)
  runtime.result = { exitCode: 3, stdout: Buffer.from(''), stderr: Buffer.from('no') }
  const heard = await told(post(people[0], 'run', { filepath: '/m.wasm' }))
  t.strictSame([heard.status, heard.text], [200, '{"success":false,"exitCode":3,"stdout":"","stderr":"no"}'])
})

t.test('bytes that are no UTF-8', async (t) => {
  const { runtime, people } = await createQueueStand(t)
  const bytes = Buffer.from([0x41, 0xff, 0xfe, 0x00, 0xef, 0xbb, 0xbf, 0x42])
  runtime.result = { exitCode: 0, stdout: bytes, stderr: bytes.subarray(1, 2) }
  const text = await told(post(people[0], 'run', { filepath: '/m.wasm' }))
  t.match(text.body, { stdout: 'A\ufffd\ufffd\0\ufeffB', stderr: '\ufffd' })
  const request = { filepath: '/m.wasm', encoding: 'base64', stdin: bytes.toString('base64') }
  const exact = await told(post(people[0], 'run', request))
  t.match(exact.body, { stdout: bytes.toString('base64'), stderr: '/w==' })
  t.strictSame(Buffer.from(runtime.programs[1]?.program.stdin ?? []), bytes)
})

t.test('folders are the user’s own, under the path that they are to have', async (t) => {
  const { runtime, people } = await createQueueStand(t)
  const [ada, bob] = people
  await store(ada, '/docs/a.txt', Buffer.from("Ada's"))
  await store(ada, '/photos/b', Buffer.from(''))
  const folders = [
    { path: '/docs', as: '/in' },
    { path: '/photos', writable: true },
  ]
  t.equal((await told(post(ada, 'run', { filepath: '/m.wasm', folders }))).status, 200)
  const preopens = runtime.programs[0]?.program.preopens ?? []
  t.strictSame(
    preopens.map(({ guestPath, path, writable }) => ({ guestPath, path, writable })),
    [
      { guestPath: '/in', path: '/docs', writable: false },
      { guestPath: '/photos', path: '/photos', writable: true },
    ],
  )
  t.equal((await preopens[0]?.files.stat('/docs/a.txt'))?.size, 5)
  const others = await told(post(bob, 'run', { filepath: '/m.wasm', folders }))
  t.match(others, { status: 404, body: { code: 'NOT_FOUND', message: /"\/docs"/ } })
})

t.test('folders that make no sense', async (t) => {
  const { runtime, people } = await createQueueStand(t)
  const [ada] = people
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
    const heard = await told(post(ada, 'run', { filepath: '/m.wasm', folders }))
    t.match(heard, { status, body: { error: true, message } }, JSON.stringify(folders))
  }
  t.strictSame(runtime.programs, [])
  const fine = [
    { path: '/a', as: '/x' },
    { path: '/a/b', as: '/xy' },
    { path: '/ab', as: '/y', writable: true },
  ]
  t.equal((await told(post(ada, 'run', { filepath: '/m.wasm', folders: fine }))).status, 200)
})

t.test('without a runtime for it, a call says what is missing', async (t) => {
  const node = await createWasmNode()
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  await store(ada, '/m.wasm', Buffer.from('a module'))
  const asked = [
    post(ada, 'run', { filepath: '/m.wasm' }),
    post(ada, 'execute-file', { filepath: '/m.wasm', function: 'f', args: [] }),
    post(ada, 'execute', { wasmBytes: '', function: 'f', args: [] }),
    ada.fetch('/api/wasm/exports?path=/m.wasm'),
  ]
  for (const answer of asked) {
    t.match(await told(answer), {
      status: 503,
      body: { code: 'SERVICE_UNAVAILABLE', message: /This node has no way to/ },
    })
  }
  t.match(await (await node.fetch('/health')).json(), { status: 'degraded' })
})
