import { mkdir, readdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { get, post, put } from '../fixtures/files-node.ts'
import { createNodeWithTwoMounts } from '../fixtures/two-mounts.ts'

t.test('files and folders are copied within a mount and to another one', async (t) => {
  const { ada, services, copy, agreedTree, text } = await createNodeWithTwoMounts(t)
  await put(ada, '/docs/a', 'a')
  await put(ada, '/docs/inner/b', 'bb')
  await post(ada, 'mkdir', { path: '/docs/empty' })
  const { seq: head } = await services.changes.head(ada.user.uuid)
  for (const [source, destination] of [
    ['/docs', '/copies/docs'],
    ['/docs', '/cold/docs'],
    ['/cold/docs', '/cold/again'],
    ['/cold/docs', '/back'],
  ] as const) {
    t.strictSame(await copy(source, destination), { status: 200, success: true, path: destination })
    t.equal(await text(`${destination}/inner/b`), 'bb')
    t.equal(await text(`${source}/inner/b`), 'bb', 'the source stays')
  }
  const seen = await agreedTree()
  for (const place of ['/docs', '/copies/docs', '/cold/docs', '/cold/again', '/back'])
    for (const [name, size] of [
      ['/a', 1],
      ['/inner/b', 2],
      ['/empty', null],
    ] as const)
      t.equal(seen.get(place + name), size)
  const rows = await services.recorded(ada.user.uuid, head)
  t.notOk(rows.some(({ op }) => op !== 'write' && op !== 'mkdir'))
  t.equal(rows.length, 4 * 5 + 1, 'one for each copied entry, and one for a new parent')

  const answer = await post(
    ada,
    'api/files/copy',
    { source: '/docs/a', destination: '/single' },
    { 'x-nodekeep-device': 'laptop' },
  )
  const etag = answer.headers.get('etag')
  t.equal((await get(ada, 'read', '/single')).headers.get('etag'), etag)
  const [row, ...others] = await services.recorded(ada.user.uuid, (rows.at(-1)?.seq ?? 0) + 1)
  t.match(row, { op: 'write', path: '/single', size: 1, revision: etag?.slice(1, -1), by: 'laptop' })
  t.strictSame(others, [])
})

t.test('a copy replaces what is at its destination only with overwrite, and as a whole', async (t) => {
  const { ada, copy, agreedTree, text } = await createNodeWithTwoMounts(t)
  for (const mount of ['', '/cold']) {
    await put(ada, '/file', 'new')
    await put(ada, '/folder/new', 'new')
    await put(ada, `${mount}/a`, 'old')
    await put(ada, `${mount}/b/old`, 'old')
    await put(ada, `${mount}/c`, 'old')
    await put(ada, `${mount}/d/old`, 'old')
    for (const [source, name] of [
      ['/file', 'a'],
      ['/file', 'b'],
      ['/folder', 'c'],
      ['/folder', 'd'],
    ] as const) {
      t.match(await copy(source, `${mount}/${name}`), { status: 409, code: 'CONFLICT', message: /overwrite/ })
      t.equal((await copy(source, `${mount}/${name}`, true)).status, 200)
    }
    for (const path of ['a', 'b', 'c/new', 'd/new']) t.equal(await text(`${mount}/${path}`), 'new')
    const seen = await agreedTree()
    t.notOk(seen.has(`${mount}/d/old`))
    for (const name of ['a', 'b', 'c', 'd']) await post(ada, 'delete', { path: `${mount}/${name}` })
  }
})

t.test('an impossible copy is refused and changes nothing', async (t) => {
  const { ada, copy, tree, agreedTree } = await createNodeWithTwoMounts(t)
  await put(ada, '/docs/file', 'x')
  const before = await tree()
  for (const [source, destination, status, message] of [
    ['/', '/all', 400, /root folder cannot be copied/],
    ['/docs', '/docs', 400, /cannot be copied to its own path/],
    ['/docs', '/docs/inner', 400, /cannot be copied into itself/],
    ['/docs/file', '/docs', 409, /replaced by something in it/],
    ['/cold', '/warm', 409, /mount or contains one\. Copy the files/],
    ['/docs', '/cold', 409, /mount/],
    ['/none', '/other', 404, /nothing at "\/none"/],
    ['/docs/../x', '/other', 400, /source/],
    ['/docs', '/docs/file/below', 400, /into itself/],
    ['/docs/file', '/docs/file/below', 400, /into itself/],
  ] as const) {
    const answer = await copy(source, destination)
    t.equal(answer.status, status, `${source} to ${destination.slice(0, 20)}`)
    t.match(answer.message, message)
    t.notMatch(answer.message, /\.copying-/)
  }
  t.strictSame(await tree(), before)
  const long = `/${'n'.repeat(255)}`.repeat(15)
  const { status, message } = await copy('/docs', `${long}/${'n'.repeat(252)}`)
  t.equal(status, 400)
  t.match(message, /would have a path of more than 4096 bytes/)
  await agreedTree()
  for (const body of [{ source: '/docs' }, { source: '/docs', destination: '/x', overwrite: 1 }, [], 'x'])
    t.equal((await post(ada, 'api/files/copy', body)).status, 400)
})

t.test('a copy that fails or is aborted leaves nothing', async (t) => {
  const { ada, shaky, services, disk, agreedTree, copy } = await createNodeWithTwoMounts(t)
  for (const name of ['a', 'b', 'c']) await put(ada, `/cold/docs/${name}`, name)
  shaky.spoilReads = true
  await put(ada, '/docs/a', 'a')
  t.match(await copy('/docs', '/cold/spoiled'), { status: 500 })
  shaky.spoilReads = false

  const files = services.files.for(ada.user)
  const reason = new Error('enough')
  for (const [from, to] of [
    ['/cold/docs', '/half'],
    ['/cold/docs', '/cold/half'],
  ] as const) {
    const abort = new AbortController()
    shaky.beforeRead = async () => abort.abort(reason)
    await t.rejects(files.copy(from, to, { signal: abort.signal }), { message: 'enough' })
    shaky.beforeRead = async () => {}
  }
  const left = new AbortController()
  shaky.beforeRead = async () => left.abort()
  const body = JSON.stringify({ source: '/cold/docs', destination: '/left' })
  const headers = { 'content-type': 'application/json' }
  await t.rejects(ada.fetch('/api/files/copy', { method: 'POST', body, headers, signal: left.signal }))
  shaky.beforeRead = async () => {}
  // A change below the same folder waits for the locks of the copy, so the copy has ended then.
  t.equal((await put(ada, '/cold/docs/d', 'd')).status, 200)
  t.strictSame([...(await agreedTree()).keys()].sort(), [
    '/cold/docs',
    '/cold/docs/a',
    '/cold/docs/b',
    '/cold/docs/c',
    '/cold/docs/d',
    '/docs',
    '/docs/a',
  ])
  t.strictSame(await readdir(disk), ['docs'])
})

t.test('changes of a folder wait while it is copied, so the copy is of one moment', async (t) => {
  const { ada, shaky, copy, agreedTree, text } = await createNodeWithTwoMounts(t)
  for (const name of ['a', 'b']) await put(ada, `/cold/docs/${name}`, 'old')
  const changes: Promise<Response>[] = []
  shaky.beforeRead = async () => {
    if (changes.length > 0) return
    changes.push(
      put(ada, '/cold/docs/a', 'changed'),
      post(ada, 'move', { source: '/cold/docs/b', destination: '/cold/docs/0' }),
      put(ada, '/copy', 'in the way'),
    )
  }
  t.equal((await copy('/cold/docs', '/copy')).status, 200)
  shaky.beforeRead = async () => {}
  t.strictSame(
    (await Promise.all(changes)).map(({ status }) => status),
    [200, 200, 409],
  )
  for (const name of ['a', 'b']) t.equal(await text(`/copy/${name}`), 'old')
  t.equal(await text('/cold/docs/a'), 'changed')
  await agreedTree()
})

t.test('a copy has only what listings show, and dates of its own', async (t) => {
  const { ada, disk, copy } = await createNodeWithTwoMounts(t)
  await put(ada, '/docs/file', 'first')
  const first = (await (await get(ada, 'stat', '/docs/file')).json()) as { created: string }
  await put(ada, '/docs/file', 'second')
  await mkdir(join(disk, 'docs', 'inner'))
  await symlink('/etc/passwd', join(disk, 'docs', 'inner', 'link'))
  const { status } = await copy('/docs', '/copy')
  t.equal(status, 200)
  t.strictSame(await readdir(join(disk, 'copy', 'inner')), [])
  const copied = (await (await get(ada, 'stat', '/copy/file')).json()) as { created: string }
  t.ok(copied.created > first.created)
  t.match(await (await get(ada, 'stat', '/docs/file')).json(), { created: first.created })
})

t.test('the copies of a user take 8 files at a time, and other users do not wait for them', async (t) => {
  const { node, ada, shaky, copy } = await createNodeWithTwoMounts(t)
  const bob = await node.signIn()
  const names = Array.from({ length: 30 }, (_, index) => String(index))
  for (const name of names) await put(ada, `/cold/${name}`, 'of Ada')
  await put(bob, '/file', 'of Bob')
  const go = Promise.withResolvers<void>()
  const full = Promise.withResolvers<void>()
  let reading = 0
  let most = 0
  shaky.beforeRead = async () => {
    reading += 1
    most = Math.max(most, reading)
    if (reading === 8) full.resolve()
    await go.promise
    reading -= 1
  }
  const copies = Promise.all(names.map((name) => copy(`/cold/${name}`, `/copies/${name}`)))
  await full.promise
  const bobs = await post(bob, 'api/files/copy', { source: '/file', destination: '/copy' })
  t.equal(bobs.status, 200)
  t.equal(await (await get(bob, 'read', '/copy')).text(), 'of Bob')
  go.resolve()
  t.ok((await copies).every(({ status }) => status === 200))
  t.equal(most, 8)
})
