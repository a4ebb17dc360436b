import { join } from 'node:path'
import type { TestUser } from '@nodekeep/kernel/testing'
import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import t, { type Test } from 'tap'
import { readHeader } from '../../src/archive/read-archive.ts'
import { makeBackup, put } from '../fixtures/backup-node.ts'
import { houseFor, read, restore } from './fixtures/house.ts'

t.jobs = 2

type Items = NodeAnswers['GET /api/files/trash']['items']
type Versions = NodeAnswers['GET /api/files/versions']['versions']

const mounts = {
  storage: { mounts: { '/mem': 'memory' } },
  plugins: { 'storage-memory': true },
}

function post(user: TestUser, path: string, body: object): Promise<Response> {
  const headers = { 'content-type': 'application/json' }
  return user.fetch(path, { method: 'POST', headers, body: JSON.stringify(body) })
}

async function answered<T>(answer: Promise<Response>): Promise<T> {
  const got = await answer
  const text = await got.text()
  if (!got.ok) throw new Error(`${got.status} ${text}`)
  return JSON.parse(text) as T
}

/** The trash, oldest first, without the ids. */
async function trashOf(user: TestUser) {
  const { items } = await answered<{ items: Items }>(user.fetch('/api/files/trash'))
  return items.reverse()
}

async function versionsOf(user: TestUser, path: string) {
  const query = new URLSearchParams({ path })
  const { versions } = await answered<{ versions: Versions }>(user.fetch(`/api/files/versions?${query}`))
  return versions
}

function byWhat(one: { readonly what: string }, other: { readonly what: string }): number {
  return one.what < other.what ? -1 : 1
}

function withoutIds(list: readonly { id: string; revision?: string }[]) {
  return list.map(({ id: _id, revision: _revision, ...facts }) => facts)
}

async function versionTexts(user: TestUser, path: string): Promise<string[]> {
  const texts: string[] = []
  for (const { id } of await versionsOf(user, path)) {
    const query = new URLSearchParams({ path, id })
    texts.push(await (await user.fetch(`/api/files/versions/read?${query}`)).text())
  }
  return texts
}

/** A node with deleted and overwritten files, before and after it was restored from its backup. */
async function restored(t: Test, include: readonly string[]) {
  const house = houseFor(t)
  const options = { config: { ...mounts, backup: { include } } }
  let { node, owner } = await house.start(options)
  for (const content of ['first', 'second', 'third']) await put(owner, '/a', content)
  for (const content of ['x1', 'x2']) await put(owner, '/docs/in/x', content)
  await post(owner, '/mkdir', { path: '/docs/empty' })
  for (const content of ['m1', 'm2']) await put(owner, '/mem/m', content)
  await put(owner, '/mem/gone', 'gone')
  await put(owner, '/pa\u2028th', 'odd')
  await post(owner, '/mkdir', { path: '/nothing' })
  for (const path of ['/docs', '/mem/gone', '/pa\u2028th', '/nothing']) await post(owner, '/delete', { path })
  const before = {
    trash: await trashOf(owner),
    ofA: await versionsOf(owner, '/a'),
    ofM: await versionsOf(owner, '/mem/m'),
  }
  const { filename } = await makeBackup(owner)
  const { header } = await readHeader(join(node.dataFolder, 'backups', filename))
  const found = await answered<{ count: number }>(post(owner, '/api/backup/find', { filename, text: 'x' }))
  t.equal(found.count, 0, 'what is kept is no file of a user')
  await post(owner, '/api/files/trash/empty', {})
  await put(owner, '/later', 'later')
  await post(owner, '/delete', { path: '/later' })
  const planned = await restore(owner, { filename, confirm: true })
  t.equal(planned.status, 200)
  ;({ node, owner } = await house.start(options))
  while ((await read(owner, '/mem/m')) === 503);
  t.strictSame([await read(owner, '/a'), await read(owner, '/mem/m')], ['third', 'm2'])
  const { kept } = await answered<NodeAnswers['GET /api/files/usage']>(owner.fetch('/api/files/usage'))
  return {
    owner,
    before,
    kept,
    omitted: header.omitted.filter(({ what }) => what.includes('/kept')).sort(byWhat),
  }
}

t.test('a backup with trash and versions brings them back, with paths and times', async (t) => {
  const { owner, before, kept, omitted } = await restored(t, ['trash', 'versions'])
  t.strictSame(omitted, [])
  const items = await trashOf(owner)
  t.strictSame(
    items.map(({ path }) => path),
    ['/docs', '/mem/gone', '/pa\u2028th', '/nothing'],
  )
  const whole = async () => withoutIds(await trashOf(owner))
  // The content of a folder is found in the background.
  while ((await trashOf(owner))[0]?.entries !== 3);
  t.strictSame(await whole(), withoutIds(before.trash))
  t.strictSame(withoutIds(await versionsOf(owner, '/a')), withoutIds(before.ofA))
  t.strictSame(withoutIds(await versionsOf(owner, '/mem/m')), withoutIds(before.ofM))
  t.strictSame(await versionTexts(owner, '/a'), ['second', 'first'])
  t.match(kept, { versions: 'second'.length + 'first'.length + 2 + 2 })

  const putBack = (id = '') => post(owner, '/api/files/trash/restore', { id })
  for (const { id, path } of items) t.match(await answered(putBack(id)), { path })
  t.strictSame([await read(owner, '/docs/in/x'), await read(owner, '/mem/gone')], ['x2', 'gone'])
  t.strictSame(await versionTexts(owner, '/docs/in/x'), ['x1'], 'versions of a deleted file')
  const [, first] = await versionsOf(owner, '/a')
  await answered(post(owner, '/api/files/versions/restore', { path: '/a', id: first?.id }))
  t.equal(await read(owner, '/a'), 'first')
  t.strictSame(await versionTexts(owner, '/a'), ['third', 'second'])
})

t.test('a backup with versions alone has those of files that are there', async (t) => {
  const { owner, before, kept, omitted } = await restored(t, ['versions'])
  t.match(omitted, [
    { what: /local\/kept/, why: 'The trash is left out.' },
    { what: /memory\/kept/, why: 'The trash is left out.' },
  ])
  t.strictSame(await trashOf(owner), [], 'what the storage had is replaced')
  t.strictSame(withoutIds(await versionsOf(owner, '/a')), withoutIds(before.ofA))
  t.strictSame(await versionTexts(owner, '/mem/m'), ['m1'])
  t.match(kept, { trash: 0 })
})

t.test('a backup with the trash alone has no versions', async (t) => {
  const { owner, before, omitted } = await restored(t, ['trash'])
  t.equal(omitted[0]?.why, 'The former versions of files are left out.')
  while ((await trashOf(owner))[0]?.entries !== 3);
  t.strictSame(withoutIds(await trashOf(owner)), withoutIds(before.trash))
  t.strictSame(await versionsOf(owner, '/a'), [])
})
