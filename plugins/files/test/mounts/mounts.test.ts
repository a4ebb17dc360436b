import t from 'tap'
import { captureServices } from '../fixtures/captured-services.ts'
import { createFilesNode, get, post, put } from '../fixtures/files-node.ts'
import { replay } from '../fixtures/replay.ts'
import { shakyBackend } from '../fixtures/shaky-backend.ts'

t.test('mounts behave like folders', async (t) => {
  const services = captureServices()
  const shaky = shakyBackend()
  const node = await createFilesNode(
    { mounts: { '/m/deep/shaky': 'shaky', '/m/gone': 'not-loaded' } },
    { plugins: [shaky.plugin, services.plugin] },
  )
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  const listing = async (path: string) => {
    const entries = (await (await get(ada, 'readdir', path)).json()) as { name: string; type: string }[]
    return entries.map(({ name, type }) => (type === 'file' ? name : `${name}/`))
  }
  const statusOf = async (answer: Promise<Response>) => {
    const { status, body } = await answer
    await body?.cancel()
    return status
  }

  t.test('a mount appears as a folder, and so do its parents', async (t) => {
    await put(ada, '/a', 'x')
    await put(ada, '/z', 'x')
    t.strictSame(await listing('/'), ['a', 'm/', 'z'])
    t.strictSame(await listing('/m'), ['deep/', 'gone/'])
    t.strictSame(await listing('/m/deep'), ['shaky/'])
    t.strictSame(await listing('/m/deep/shaky'), [])
    for (const path of ['/m', '/m/deep', '/m/deep/shaky']) {
      t.match(await (await get(ada, 'stat', path)).json(), { path, type: 'directory', size: 0 })
      t.equal(await statusOf(get(ada, 'read', path)), 400)
      t.equal(await statusOf(post(ada, 'mkdir', { path })), 200)
    }
    await put(ada, '/m/deep/beside', 'on the root mount')
    t.strictSame(await listing('/m/deep'), ['beside', 'shaky/'])
    t.strictSame(await listing('/m'), ['deep/', 'gone/'])
  })

  t.test('a mount and its parents cannot be moved', async (t) => {
    await put(ada, '/file', 'x')
    for (const path of ['/m', '/m/deep', '/m/deep/shaky']) {
      t.equal(await statusOf(post(ada, 'delete', { path })), 409, path)
      t.equal(await statusOf(put(ada, path, 'x')), 409)
      t.equal(await statusOf(post(ada, 'move', { source: path, destination: '/elsewhere' })), 409)
      const onto = { source: '/file', destination: path, overwrite: true }
      t.equal(await statusOf(post(ada, 'move', onto)), 409)
    }
    t.strictSame(await listing('/m/deep'), ['beside', 'shaky/'])
  })

  t.test('files and folders move across mounts, with their bytes and dates', async (t) => {
    const large = Buffer.alloc(3_000_000, 'large')
    await put(ada, '/tree/inner/large', large)
    await put(ada, '/tree/small', 'one')
    await put(ada, '/tree/small', 'two')
    await post(ada, 'mkdir', { path: '/tree/empty' })
    const created = async (path: string) =>
      ((await (await get(ada, 'stat', path)).json()) as { created: string }).created
    const before = await created('/tree/small')
    for (const [source, destination] of [
      ['/tree', '/m/deep/shaky/new/tree'],
      ['/m/deep/shaky/new/tree', '/back'],
    ] as const) {
      const answer = await post(ada, 'move', { source, destination })
      t.strictSame(await answer.json(), { success: true, path: destination })
      t.equal(await statusOf(get(ada, 'stat', source)), 404)
      t.strictSame(await listing(destination), ['empty/', 'inner/', 'small'])
      const bytes = await (await get(ada, 'read', `${destination}/inner/large`)).arrayBuffer()
      t.ok(Buffer.from(bytes).equals(large))
      t.equal(await created(`${destination}/small`), before)
    }
    t.equal(await statusOf(post(ada, 'move', { source: '/back/small', destination: '/m/deep/shaky/s' })), 200)
    t.strictSame(await listing('/m/deep/shaky'), ['new/', 's'])
  })

  t.test('a move across mounts replaces only its destination', async (t) => {
    await put(ada, '/m/deep/shaky/taken/inside', 'old')
    const move = { source: '/back', destination: '/m/deep/shaky/taken' }
    t.equal(await statusOf(post(ada, 'move', move)), 409)
    t.strictSame(await listing('/m/deep/shaky/taken'), ['inside'])
    t.equal(await statusOf(post(ada, 'move', { ...move, overwrite: true })), 200)
    t.strictSame(await listing('/m/deep/shaky/taken'), ['empty/', 'inner/'])
  })

  t.test('a file whose copy differs is not moved', async (t) => {
    await put(ada, '/precious', 'precious')
    await put(ada, '/m/deep/shaky/old', 'old')
    shaky.spoilReads = true
    const move = { source: '/precious', destination: '/m/deep/shaky/old', overwrite: true }
    t.equal(await statusOf(post(ada, 'move', move)), 500)
    shaky.spoilReads = false
    t.equal(await (await get(ada, 'read', '/precious')).text(), 'precious')
    t.equal(await (await get(ada, 'read', '/m/deep/shaky/old')).text(), 'old')
    t.notOk((await listing('/m/deep/shaky')).find((name) => name.startsWith('.moving')))
  })

  t.test('an unreachable mount does not affect others', async (t) => {
    shaky.isReachable = false
    await put(ada, '/still', 'here')
    for (const path of ['/m/deep/shaky', '/m/deep/shaky/x', '/m/gone', '/m/gone/x']) {
      const answers = [
        get(ada, 'stat', path),
        get(ada, 'readdir', path),
        put(ada, `${path}/y`, 'y'),
        post(ada, 'mkdir', { path: `${path}/y` }),
        post(ada, 'move', { source: '/still', destination: `${path}/y` }),
      ]
      for (const answer of await Promise.all(answers)) {
        t.equal(answer.status, 503, `${answer.url}`)
        t.match(await answer.json(), { error: true, code: 'SERVICE_UNAVAILABLE' })
      }
    }
    t.strictSame(await listing('/m'), ['deep/', 'gone/'])
    t.strictSame(await listing('/m/deep'), ['beside', 'shaky/'])
    t.equal(await (await get(ada, 'read', '/still')).text(), 'here')
    t.match(await (await node.fetch('/health')).json(), { status: 'degraded' })
    const report = await (await (await node.signIn('owner')).fetch('/api/system/health')).json()
    const message =
      /^\/m\/deep\/shaky \("shaky"\): .+ \/m\/gone \("not-loaded"\): The node has no storage for "\/m\/gone"\./
    t.match(report, { checks: { storage: { ok: false, state: 'unreachable', message } } })
    shaky.isReachable = true
    t.equal(await statusOf(get(ada, 'readdir', '/m/deep/shaky')), 200)
  })

  t.test('the journal records moves across mounts', async (t) => {
    const seen = new Map<string, number | null>([['/', null]])
    const walk = async (folder: string) => {
      const entries = (await (await get(ada, 'readdir', folder || '/')).json()) as {
        name: string
        size?: number
      }[]
      for (const { name, size } of Array.isArray(entries) ? entries : []) {
        seen.set(`${folder}/${name}`, size ?? null)
        if (size === undefined) await walk(`${folder}/${name}`)
      }
    }
    await walk('')
    const recorded = replay(await services.recorded(ada.user.uuid))
    for (const path of ['/m', '/m/deep', '/m/deep/shaky', '/m/gone']) {
      seen.delete(path)
      recorded.delete(path)
    }
    t.strictSame([...recorded].sort(), [...seen].sort())
  })
})

t.test('invalid mounts are refused at the start', async (t) => {
  const wrong: [Record<string, string>, RegExp][] = [
    [{ 'no-slash': 'memory' }, /storage\.mounts.*begin with "\/"/],
    [{ '/a/': 'memory' }, /storage\.mounts.*end with "\/"/],
    [{ '/a/../b': 'memory' }, /storage\.mounts/],
    [{ '/a': 'local' }, /"local" at "\/a" and at "\/"/],
    [{ '/a': 'memory', '/b': 'memory' }, /"memory" at "\/a" and at "\/b"/],
    [{ '/caf\u00e9': 'memory', '/cafe\u0301': 'other' }, /storage\.mounts has "\/caf\u00e9" twice/],
  ]
  for (const [mounts, message] of wrong) await t.rejects(createFilesNode({ mounts }), { message })
})

t.test('a mount without a backend is logged at the start', async (t) => {
  const warnings: { msg: string; mount: string }[] = []
  const onLog = (line: string) => {
    const parsed = JSON.parse(line) as { msg: string; mount?: string }
    if (parsed.mount !== undefined) warnings.push({ ...parsed, mount: parsed.mount })
  }
  const mounts = { '/': 'nope', '/archive': 'archiv', '/memory': 'memory' }
  const node = await createFilesNode({ mounts }, { onLog })
  await node.stop()
  const known = /Loaded backends: ("local", "memory"|"memory", "local")\. Correct storage\.mounts/
  t.match(warnings, [
    { mount: '/archive', msg: /backend "archiv" of "\/archive"/ },
    { mount: '/', msg: /backend "nope" of "\/"/ },
  ])
  for (const { msg } of warnings) t.match(msg, known)
  t.equal(warnings.length, 2)
})

t.test('a backend that is at another mount than at the last start is logged, once', async (t) => {
  const dataFolder = t.testdir()
  const startWith = async (mounts: Record<string, string>) => {
    const warnings: { msg: string; mount: string }[] = []
    const onLog = (line: string) => {
      const parsed = JSON.parse(line) as { msg: string; mount?: string }
      if (parsed.mount !== undefined) warnings.push({ ...parsed, mount: parsed.mount })
    }
    const node = await createFilesNode({ mounts }, { dataFolder, onLog })
    await node.stop()
    return warnings
  }
  t.strictSame(await startWith({ '/archive': 'memory' }), [], 'the first start knows of no other mounts')
  t.match(await startWith({ '/': 'memory', '/disk': 'local' }), [
    {
      mount: '/archive',
      msg: /"memory" was mounted at "\/archive" .* It is now mounted at "\/", so its files have/,
    },
    {
      mount: '/',
      msg: /"local" was mounted at "\/" .* It is now mounted at "\/disk", so its files have other/,
    },
  ])
  t.strictSame(await startWith({ '/': 'memory', '/disk': 'local' }), [])
  t.match(await startWith({}), [
    { mount: '/disk', msg: /"local" was mounted at "\/disk"/ },
    {
      mount: '/',
      msg: /"memory" was mounted at "\/" .* It is no longer mounted, so its files are unreachable/,
    },
  ])
})
