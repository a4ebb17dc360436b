import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { TestUser } from '@nodekeep/kernel/testing'
import t, { type Test } from 'tap'
import { begin, offsetOf, patch, sendForm, sendUpload, upload } from '../fixtures/guest-uploads.ts'
import { call, createShareNode, link, namesIn, shareOf } from '../fixtures/share-node.ts'

const node = await createShareNode()
t.teardown(() => node.stop())
const owner = await node.signIn('owner')

const guests = 64

/** More than arrives at once. */
const content = 'x'.repeat(200_000)
const size = content.length

/** The ways in which guests send a file. */
const ways = {
  'with the script': (path: string) => sendUpload(node, path, 'same.txt', content),
  'by a form': (path: string) => sendForm(node, path, { 'same.txt': content }),
}

/** Sends files of 64 guests at once. Returns how many are stored, and what the others are told. */
async function sendAll(way: (path: string) => Promise<Response>, path: string) {
  const answers = await Promise.all(Array.from({ length: guests }, () => way(path)))
  const outcomes = await Promise.all(
    answers.map(async (answer) => ({ status: answer.status, text: await answer.text() })),
  )
  const refused = outcomes.filter(({ status }) => status === 507)
  const stored = outcomes.filter(({ status }) => status === 200 || status === 204).length
  return { stored, refused: refused.map(({ text }) => text) }
}

async function makeFolder(user: TestUser): Promise<void> {
  await call(user, 'POST', '/mkdir', { path: '/in' })
}

async function setQuota(user: TestUser, quota: number | 'none'): Promise<void> {
  await call(owner, 'PUT', `/api/files/quotas/${user.user.uuid}`, { quota })
}

function nothingIsLeftOver(t: Test): void {
  const folder = join(node.dataFolder, 'plugins/shares/not-in-backups/staged')
  t.strictSame(readdirSync(folder), [], 'nothing is left over')
}

t.test('64 guests at the most files of a link', async (t) => {
  for (const [how, way] of Object.entries(ways)) {
    await t.test(how, async (t) => {
      const ada = await node.signIn()
      await makeFolder(ada)
      const { path, id } = await link(ada, '/in', { kind: 'drop', maxFiles: 20 })
      const { stored, refused } = await sendAll(way, path)
      t.equal(stored, 20)
      t.equal(refused.length, guests - 20)
      for (const text of refused)
        t.match(text, 'This link takes no more than 20 files. Ask the person who made it for more.')
      t.equal((await namesIn(ada, '/in')).length, 20, 'each has a name of its own')
      t.match(await shareOf(ada, id), { dropped: { files: 20, bytes: 20 * size }, used: { uploads: 20 } })
      t.match(await (await node.fetch(path)).text(), 'takes no more files')
      nothingIsLeftOver(t)
    })
  }
})

t.test('64 guests at the most bytes of a link', async (t) => {
  for (const [how, way] of Object.entries(ways)) {
    await t.test(how, async (t) => {
      const ada = await node.signIn()
      await makeFolder(ada)
      const { path, id } = await link(ada, '/in', { kind: 'drop', maxBytes: 10 * size + 50 })
      const { stored, refused } = await sendAll(way, path)
      t.equal(stored, 10)
      t.equal(refused.length, guests - 10)
      for (const text of refused)
        t.match(
          text,
          /This link takes (no|at most [\d,]+) more bytes\. Ask the person who made it for more\./,
        )
      t.match(await shareOf(ada, id), { dropped: { files: 10, bytes: 10 * size }, used: { uploads: 10 } })
      nothingIsLeftOver(t)
      t.equal(await upload(node, path, 'rest.txt', 'x'.repeat(50)), 204, 'the rest is there for others')
      t.equal(await upload(node, path, 'more.txt', 'x'), 507)
      t.equal((await namesIn(ada, '/in')).length, 11)
    })
  }
})

t.test('64 guests at the quota of the maker', async (t) => {
  for (const [how, way] of Object.entries(ways)) {
    await t.test(how, async (t) => {
      const ada = await node.signIn()
      await makeFolder(ada)
      await setQuota(ada, 10 * size + 50)
      const { path, id } = await link(ada, '/in', { kind: 'drop' })
      const { stored, refused } = await sendAll(way, path)
      t.equal(stored, 10)
      t.equal(refused.length, guests - 10)
      for (const text of refused) {
        t.match(text, 'There is no room for this file. Tell the person who made this link.')
        t.notMatch(text, /You may store|quota/, 'guests do not learn what the maker has')
      }
      t.match(await shareOf(ada, id), { dropped: { files: 10, bytes: 10 * size }, used: { uploads: 10 } })
      nothingIsLeftOver(t)
      t.match(await (await ada.fetch('/api/files/usage')).json(), { quota: { taken: 10 * size } })
      t.equal(await upload(node, path, 'rest.txt', 'x'.repeat(50)), 204, 'the rest is there for others')
      t.equal(await upload(node, path, 'more.txt', 'x'), 507)
      t.equal((await namesIn(ada, '/in')).length, 11)
    })
  }
})

t.test('an upload for which there is no room any more ends, and takes nothing from others', async (t) => {
  const ada = await node.signIn()
  await makeFolder(ada)
  const { path } = await link(ada, '/in', { kind: 'drop', maxFiles: 1 })
  const address = (await begin(node, path, 'a.txt', 100)).headers.get('location') ?? ''
  t.equal((await patch(node, address, 0, 'x'.repeat(50))).status, 204)
  await setQuota(ada, 10)
  const refused = await patch(node, address, 50, 'x'.repeat(50))
  t.equal(refused.status, 507)
  t.match(await refused.json(), { message: /^There is no room for this file\. Tell/ })
  await t.rejects(offsetOf(node, address), { message: /404/ })
  nothingIsLeftOver(t)
  await setQuota(ada, 'none')
  t.equal(await upload(node, path, 'b.txt', 'b'), 204)
  t.strictSame(await namesIn(ada, '/in'), ['b.txt'])
})

t.test('the room of an upload is the one of its maker from its begin on', async (t) => {
  const ada = await node.signIn()
  await makeFolder(ada)
  await setQuota(ada, 1000)
  const { path, id } = await link(ada, '/in', { kind: 'drop' })
  t.equal((await begin(node, path, 'a.txt', 900)).status, 201)
  t.match(await (await ada.fetch('/api/files/usage')).json(), { quota: { taken: 900 } })
  t.equal((await begin(node, path, 'b.txt', 101)).status, 507)
  // The end of the link gives it back.
  t.equal((await ada.fetch(`/api/shares/${id}`, { method: 'DELETE' })).status, 200)
  t.match(await (await ada.fetch('/api/files/usage')).json(), { quota: { taken: 0 } })
})
