import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { runCommand, type TestNode, type TestUser } from '@nodekeep/kernel/testing'
import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import t from 'tap'
import { createFilesNode, get, post, put } from '../fixtures/files-node.ts'

type Trash = NodeAnswers['GET /api/files/trash']
type Versions = NodeAnswers['GET /api/files/versions']

async function trash(user: TestUser, query = ''): Promise<Trash> {
  return (await (await user.fetch(`/api/files/trash${query}`)).json()) as Trash
}

async function versions(user: TestUser, path: string): Promise<Versions['versions']> {
  return ((await (await get(user, 'api/files/versions', path)).json()) as Versions).versions
}

function readVersion(user: TestUser, path: string, id = '', init: RequestInit = {}) {
  return user.fetch(`/api/files/versions/read?${new URLSearchParams({ path, id })}`, init)
}

async function text(user: TestUser, path: string): Promise<string> {
  return (await get(user, 'read', path)).text()
}

async function refusal(answer: Promise<Response>) {
  const refused = await answer
  return [refused.status, ((await refused.json()) as { message?: string }).message]
}

/** The user with an API token. */
async function withScopes(node: TestNode, user: TestUser, scopes: string[]): Promise<TestUser> {
  const answer = await post(user, 'api/account/tokens', { name: scopes.join(), scopes })
  const { token } = (await answer.json()) as { token: string }
  return {
    ...user,
    fetch: (path, init = {}) => {
      const headers = new Headers(init.headers)
      headers.set('authorization', `Bearer ${token}`)
      return node.fetch(path, { ...init, headers })
    },
  }
}

t.test('the trash is listed in pages, and gives back what was deleted', async (t) => {
  const node = await createFilesNode()
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  const bert = await node.signIn()
  await put(ada, '/photos/cat', 'cat')
  await put(ada, '/photos/2026/dog', 'wuff')
  for (const name of ['a', 'b', 'c']) await put(ada, `/${name}`, name)
  for (const path of ['/photos', '/a', '/b', '/c']) {
    const { headers } = await post(ada, 'delete', { path })
    t.equal(headers.get('x-nodekeep-deleted'), 'trash')
  }
  const first = await trash(ada, '?limit=3')
  t.match(first.items, [
    { path: '/c', type: 'file', size: 1, entries: 0, maker: { kind: 'session' } },
    { path: '/b' },
    { path: '/a' },
  ])
  const second = await trash(ada, `?limit=3&cursor=${first.cursor}`)
  t.match(second, {
    items: [{ path: '/photos', type: 'directory', size: 7, entries: 3 }],
    cursor: null,
    days: 30,
  })
  t.ok(Date.parse(second.items[0]?.deleted ?? '') <= Date.now())

  const [photos, c] = [second.items[0]?.id, first.items[0]?.id]
  const restore = (body: object, user = ada) => post(user, 'api/files/trash/restore', body)
  t.strictSame(
    await (await restore({ id: photos, destination: '/old/photos' })).json(),
    { success: true, path: '/old/photos' },
    'at another path, whose folder is missing',
  )
  t.equal(await text(ada, '/old/photos/2026/dog'), 'wuff')
  await put(ada, '/c', 'another')
  const restored = await restore({ id: c })
  t.strictSame(await restored.json(), { success: true, path: '/c (2)' }, 'at a free name')
  t.ok(restored.headers.get('etag'))
  t.equal(await text(ada, '/c (2)'), 'c')
  t.match(await refusal(restore({ id: c })), [404, /not kept/], 'it is not in the trash any more')
  const b = first.items[1]?.id
  t.match(await refusal(restore({ id: b }, bert)), [404, /not kept/], 'nothing of another user')
  t.match(await refusal(post(bert, 'api/files/trash/delete', { id: b })), [404, /not kept/])
  t.strictSame((await trash(bert)).items, [])
  t.match(await refusal(ada.fetch('/api/files/trash?cursor=x')), [400, /cursor/])
  t.match(await refusal(ada.fetch('/api/files/trash?limit=1001')), [400, /limit/])

  t.strictSame(await (await post(ada, 'api/files/trash/delete', { id: b })).json(), { success: true })
  t.match((await trash(ada)).items, [{ path: '/a' }])
  await post(ada, 'api/files/trash/empty', {})
  t.strictSame((await trash(ada)).items, [])
})

t.test('versions are listed, read in ranges, restored and deleted', async (t) => {
  const node = await createFilesNode()
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  const bert = await node.signIn()
  const path = '/notes/<b>.html'
  const etags: (string | null)[] = []
  for (const content of ['first text', 'second', 'third'])
    etags.push((await put(ada, path, content)).headers.get('etag'))
  const [second, first] = await versions(ada, path)
  t.match(second, { size: 6, maker: { kind: 'session' } })
  t.match(first, { size: 10, revision: etags[0]?.slice(1, -1) })
  t.ok(Date.parse(first?.modified ?? '') <= Date.parse(first?.replaced ?? ''))

  const whole = await readVersion(ada, path, first?.id)
  t.equal(await whole.text(), 'first text')
  const present = await get(ada, 'read', path)
  await present.text()
  t.equal(whole.headers.get('etag'), etags[0])
  for (const name of [
    'content-type',
    'content-disposition',
    'content-security-policy',
    'x-content-type-options',
  ])
    t.equal(whole.headers.get(name), present.headers.get(name), `${name}, as of the file`)
  const range = await readVersion(ada, path, first?.id, { headers: { range: 'bytes=6-' } })
  t.match(
    [range.status, range.headers.get('content-range'), await range.text()],
    [206, 'bytes 6-9/10', 'text'],
  )
  const known = await readVersion(ada, path, first?.id, { headers: { 'if-none-match': etags[0] ?? '' } })
  t.equal(known.status, 304)
  const head = await readVersion(ada, path, first?.id, { method: 'HEAD' })
  t.match([head.status, head.headers.get('content-length')], [200, '10'])
  const script = { headers: { 'sec-fetch-dest': 'script' } }
  t.equal((await readVersion(ada, path, first?.id, script)).status, 403, 'no page can run it')

  await put(bert, path, 'own')
  t.match(await refusal(readVersion(bert, path, first?.id)), [404, /not kept/], 'nothing of another user')
  const ranged = { headers: { range: 'bytes=0-1' } }
  t.match(await refusal(readVersion(bert, path, first?.id, ranged)), [404, /not kept/], 'nor a part of it')
  for (const action of ['restore', 'delete']) {
    const asked = post(bert, `api/files/versions/${action}`, { path, id: first?.id })
    t.match(await refusal(asked), [404, /not kept/], action)
  }
  await put(ada, '/other', 'x')
  t.match(await refusal(readVersion(ada, '/other', first?.id)), [404, /not kept/], 'nothing of another file')
  t.match(await refusal(get(ada, 'api/files/versions', '/notes')), [400, /folder/])

  const restored = await post(ada, 'api/files/versions/restore', { path, id: first?.id })
  t.strictSame(await restored.json(), { success: true, path })
  t.equal(restored.headers.get('etag'), etags[0], 'the former version of the file again')
  t.equal(await text(ada, path), 'first text')
  const [third] = await versions(ada, path)
  t.equal(await (await readVersion(ada, path, third?.id)).text(), 'third', 'the present content is a version')
  await post(ada, 'api/files/versions/delete', { path, id: third?.id })
  t.strictSame(
    (await versions(ada, path)).map(({ id }) => id),
    [second?.id],
  )
})

t.test('a token that may write can delete into the trash, but nothing for good', async (t) => {
  const node = await createFilesNode()
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  const writer = await withScopes(node, ada, ['files:read', 'files:write'])
  const purger = await withScopes(node, ada, ['files:read', 'files:write', 'files:purge'])
  await put(ada, '/a', 'x')
  t.match(await refusal(post(writer, 'delete', { path: '/a', permanent: true })), [
    403,
    /"files:purge".*Leave out "permanent"/,
  ])
  t.equal(await text(ada, '/a'), 'x')
  t.equal((await post(writer, 'delete', { path: '/a' })).status, 200)
  const { items } = await trash(writer)
  const id = items[0]?.id
  t.match(await refusal(post(writer, 'api/files/trash/delete', { id })), [403, /files:purge/])
  t.match(await refusal(post(writer, 'api/files/trash/empty', {})), [403, /files:purge/])
  t.equal((await post(writer, 'api/files/trash/restore', { id })).status, 200)
  const gone = await post(purger, 'delete', { path: '/a', permanent: true })
  t.match([gone.status, await gone.json()], [200, { success: true }])
  t.match([gone.headers.get('x-nodekeep-deleted'), gone.headers.get('x-nodekeep-undo')], ['for-good', null])
  t.strictSame((await trash(ada)).items, [])
})

t.test('without a trash, a token that may write can delete, and the answers say for good', async (t) => {
  const node = await createFilesNode({ trash: false, versions: false })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  const writer = await withScopes(node, ada, ['files:read', 'files:write'])
  await put(ada, '/a', 'x')
  t.match(await (await get(ada, 'api/files/list', '/')).json(), { keeps: { trash: false, versions: false } })
  const gone = await post(writer, 'delete', { path: '/a' })
  t.match([gone.status, gone.headers.get('x-nodekeep-deleted')], [200, 'for-good'])
  t.equal(gone.headers.get('x-nodekeep-undo'), null)
  t.strictSame((await trash(ada)).items, [])
})

t.test(
  'the command line shows the trash and versions, and puts back what was deleted or replaced',
  async (t) => {
    const node = await createFilesNode()
    t.teardown(() => node.stop())
    const folder = t.testdir({ 'nodekeep.json': JSON.stringify({ plugins: { files: true } }) })
    const options = ['--config', join(folder, 'nodekeep.json'), '--data', node.dataFolder]
    const run = (...args: string[]) => runCommand([...args, ...options], { cwd: folder })
    const owner = await node.signIn('owner')
    await put(owner, '/notes', 'x'.repeat(1500))
    await put(owner, '/notes', 'later')
    await put(owner, '/folder/a', 'a')
    await post(owner, 'delete', { path: '/folder' })

    t.match(await run('trash'), { code: 0, stdout: /\/folder\/ +1 B .*test/ })
    const [item] = JSON.parse((await run('trash', 'list', '--json')).stdout)
    t.match(item, { path: '/folder', type: 'directory', size: 1 })
    t.match(await run('trash', 'restore', item.id, '/back'), { code: 0, stdout: /\/back/ })
    t.equal(await text(owner, '/back/a'), 'a')
    t.match(await run('trash', 'restore', item.id), { code: 1, stderr: /not kept/ })
    t.match(await run('trash', 'restore'), { code: 1, stderr: /by its id/ })
    t.match(await run('trash', 'burn'), { code: 1, stderr: /Use list, restore or empty/ })
    await post(owner, 'delete', { path: '/back' })
    t.match(await run('trash', 'empty'), { code: 0, stdout: /Nothing was deleted/ }, 'nobody was asked')
    t.match(await run('trash', 'empty', '--yes'), { code: 0, stdout: /trash is empty/ })
    t.match(await run('files', 'trash'), { code: 0, stdout: /trash is empty/ })

    t.match(await run('versions', '/notes'), { code: 0, stdout: /1\.5 kB .*test/ })
    const [version] = JSON.parse((await run('versions', '/notes', '--json')).stdout)
    const saved = join(folder, 'saved')
    t.match(await run('versions', '/notes', '--save', version.id, saved), { code: 0 })
    t.equal(await readFile(saved, 'utf8'), 'x'.repeat(1500))
    t.match(await run('versions', '/notes', '--save', version.id, saved), { code: 1, stderr: /already/ })
    t.match(await run('versions', '/notes', '--save', version.id), { code: 1, stderr: /a new file/ })
    t.match(await run('versions', '/notes', '--restore', version.id), { code: 0, stdout: /again/ })
    t.equal(await text(owner, '/notes'), 'x'.repeat(1500))
    t.match(await run('versions', '/notes', '--restore', version.id), { code: 1, stderr: /not kept/ })
    t.match(await run('versions', '/back'), { code: 1, stderr: /nothing at/ })
  },
)
