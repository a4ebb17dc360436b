import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { captureServices } from '../fixtures/captured-services.ts'
import { createFilesNode, get, post, put } from '../fixtures/files-node.ts'

t.test('readdir, stat, mkdir, delete and move work on files and folders', async (t) => {
  const services = captureServices()
  const node = await createFilesNode({ mounts: { '/memory': 'memory' } }, { plugins: [services.plugin] })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  const isTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

  t.test('answers have exactly the fields of the interface', async (t) => {
    await put(ada, '/docs/a', 'four')
    await post(ada, 'mkdir', { path: '/docs/b' })
    const entries = (await (await get(ada, 'readdir', '/docs')).json()) as Record<string, unknown>[]
    t.match(entries, [
      { name: 'a', type: 'file', size: 4, modified: isTime },
      { name: 'b', type: 'directory', modified: isTime },
    ])
    t.strictSame(entries.map(Object.keys), [
      ['name', 'type', 'size', 'modified'],
      ['name', 'type', 'modified'],
    ])
    for (const [path, name, type, size] of [
      ['/docs/a', 'a', 'file', 4],
      ['/docs', 'docs', 'directory', 0],
      ['/', '/', 'directory', 0],
    ]) {
      const entry = (await (await get(ada, 'stat', String(path))).json()) as object
      t.match(entry, { name, path, type, size, modified: isTime, created: isTime })
      t.strictSame(Object.keys(entry), ['name', 'path', 'type', 'size', 'modified', 'created'])
      const tag = (await get(ada, 'read', String(path))).headers.get('etag')
      t.equal((await get(ada, 'stat', String(path))).headers.get('etag'), tag, 'only files have a version')
    }
    const answers: [Promise<Response>, object][] = [
      [post(ada, 'mkdir', { path: '/docs/new/inner' }), { success: true, path: '/docs/new/inner' }],
      [post(ada, 'mkdir', { path: '/docs/new/inner' }), { success: true, path: '/docs/new/inner' }],
      [post(ada, 'move', { source: '/docs/a', destination: '/docs/c' }), { success: true, path: '/docs/c' }],
      [post(ada, 'delete', { path: '/docs' }), { success: true }],
    ]
    for (const [answer, body] of answers) {
      t.equal((await answer).status, 200)
      t.strictSame(await (await answer).json(), body)
    }
  })

  t.test('invalid bodies are refused', async (t) => {
    const wrong: [string, unknown][] = [
      ['mkdir', {}],
      ['mkdir', { path: 7 }],
      ['mkdir', { path: '/a', mode: 7 }],
      ['delete', { path: null }],
      ['delete', { path: '/' }],
      ['delete', { path: '/a', onlyIfEmpty: 'yes' }],
      ['delete', []],
      ['move', { source: '/a' }],
      ['move', { source: '/a', destination: '/b', overwrite: 'yes' }],
      ['move', { source: '/', destination: '/b' }],
      ['mkdir', { path: '/\ud800' }],
    ]
    for (const [endpoint, body] of wrong) {
      const answer = await post(ada, endpoint, body)
      t.equal(answer.status, 400, `${endpoint} ${JSON.stringify(body)}`)
      t.match(await answer.json(), { error: true, code: 'VALIDATION_ERROR' })
    }
  })

  t.test('a move replaces an existing destination only with overwrite', async (t) => {
    await put(ada, '/m/a', 'a')
    await put(ada, '/m/b', 'b')
    const move = { source: '/m/a', destination: '/m/b' }
    t.equal((await post(ada, 'move', move)).status, 409)
    t.equal((await post(ada, 'move', { ...move, overwrite: false })).status, 409)
    t.equal((await post(ada, 'move', { ...move, overwrite: true })).status, 200)
    t.equal(await (await get(ada, 'read', '/m/b')).text(), 'a')
  })

  t.test('a deletion can demand a version', async (t) => {
    const etag = (await put(ada, '/version', '1')).headers.get('etag') ?? ''
    await put(ada, '/version', '2')
    t.equal((await post(ada, 'delete', { path: '/version' }, { 'if-match': etag })).status, 412)
    t.equal((await post(ada, 'delete', { path: '/version' }, { 'if-match': '*' })).status, 200)
    t.equal((await post(ada, 'delete', { path: '/version' }, { 'if-match': '*' })).status, 412)
  })

  t.test('a deletion cannot demand the version of a folder', async (t) => {
    for (const folder of ['/conditional', '/memory/conditional']) {
      await put(ada, `${folder}/file`, '1')
      const remove = (headers: Record<string, string>) => post(ada, 'delete', { path: folder }, headers)
      for (const headers of [
        { 'if-match': '"r1"' },
        { 'if-match': '"r1", "r2"' },
        { 'if-unmodified-since': new Date().toUTCString() },
        { 'if-none-match': '*' },
      ] as Record<string, string>[]) {
        const answer = await remove(headers)
        t.equal(answer.status, 400, `${folder} ${JSON.stringify(headers)}`)
        t.match(await answer.json(), { code: 'VALIDATION_ERROR', message: /no version|if-none-match/ })
      }
      t.equal((await get(ada, 'read', `${folder}/file`)).status, 200)
      t.equal((await remove({ 'if-match': '*' })).status, 200)
      t.equal((await remove({ 'if-match': '*' })).status, 412)
    }
  })

  t.test('a deletion can demand an empty folder', async (t) => {
    for (const folder of ['/maybe-empty', '/memory/maybe-empty']) {
      await put(ada, `${folder}/file`, '1')
      const remove = (path: string) => post(ada, 'delete', { path, onlyIfEmpty: true })
      for (const path of [folder, `${folder}/file`]) {
        const answer = await remove(path)
        t.equal(answer.status, 409)
        t.match(await answer.json(), { code: 'CONFLICT', message: `"${path}" is not an empty folder.` })
      }
      t.equal((await get(ada, 'read', `${folder}/file`)).status, 200)
      await post(ada, 'delete', { path: `${folder}/file`, onlyIfEmpty: false })
      t.equal((await remove(folder)).status, 200)
      t.equal((await remove(folder)).status, 404)
    }
  })

  t.test('mkdir refuses conditions', async (t) => {
    const etag = (await put(ada, '/c/b', 'b')).headers.get('etag') ?? ''
    for (const headers of [
      { 'if-match': etag },
      { 'if-none-match': '*' },
      { 'if-unmodified-since': new Date().toUTCString() },
    ] as Record<string, string>[]) {
      const answer = await post(ada, 'mkdir', { path: '/c/new' }, headers)
      t.equal(answer.status, 400)
      t.match(await answer.json(), { code: 'VALIDATION_ERROR', message: /Send it without/ })
    }
    t.equal(await (await get(ada, 'read', '/c/b')).text(), 'b')
    t.equal((await get(ada, 'stat', '/c/new')).status, 404)
  })

  t.test('a large folder is listed completely and sorted, without special entries', async (t) => {
    const folder = join(node.dataFolder, 'files', ada.user.uuid, 'large')
    await mkdir(folder)
    const names = Array.from({ length: 1201 }, (_, index) => `file-${index}`)
    await Promise.all(names.map((name) => writeFile(join(folder, name), '')))
    await symlink('/etc/passwd', join(folder, 'passwd'))
    const answer = await get(ada, 'readdir', '/large')
    t.match(answer.headers.get('content-type'), 'application/json')
    const entries = (await answer.json()) as { name: string }[]
    t.strictSame(
      entries.map(({ name }) => name),
      names.toSorted(),
    )
    t.equal((await get(ada, 'read', '/large/passwd')).status, 404)
  })

  t.test('a deletion of a link that another program made removes only the link', async (t) => {
    const folder = join(node.dataFolder, 'files', ada.user.uuid)
    const outside = t.testdir({ folder: { file: 'kept' } })
    for (const [name, target] of [
      ['to-file', join(outside, 'folder', 'file')],
      ['to-folder', join(outside, 'folder')],
      ['to-nothing', join(outside, 'none')],
    ] as const) {
      await symlink(target, join(folder, name))
      t.equal((await post(ada, 'delete', { path: `/${name}/file` })).status, 404)
      t.equal((await post(ada, 'delete', { path: `/${name}` }, { 'if-match': '*' })).status, 412)
      const head = await services.changes.head(ada.user.uuid)
      t.equal((await post(ada, 'delete', { path: `/${name}` })).status, 200)
      t.equal((await post(ada, 'delete', { path: `/${name}` })).status, 404)
      t.same(await services.changes.head(ada.user.uuid), head, 'the journal does not record it')
    }
    t.equal(await readFile(join(outside, 'folder', 'file'), 'utf8'), 'kept')
  })

  t.test('a folder with exactly one page of entries is listed completely', async (t) => {
    for (const count of [0, 1, 499, 500, 501, 1000]) {
      const folder = join(node.dataFolder, 'files', ada.user.uuid, `exactly-${count}`)
      await mkdir(folder)
      for (let index = 0; index < count; index += 1) await writeFile(join(folder, `${index}`), '')
      const entries = (await (await get(ada, 'readdir', `/exactly-${count}`)).json()) as unknown[]
      t.equal(entries.length, count)
    }
  })
})
