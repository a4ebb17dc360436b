import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { TestUser } from '@nodekeep/kernel/testing'
import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import t, { test } from 'tap'
import { begin, offsetOf, patch, sendForm, upload } from '../fixtures/guest-uploads.ts'
import { call, createShareNode, link, namesIn, put, read, shareOf } from '../fixtures/share-node.ts'

t.jobs = 3

const node = await createShareNode()
t.teardown(() => node.stop())

const usesOf = async (user: TestUser, id: string) =>
  ((await (await user.fetch(`/api/shares/${id}/uses`)).json()) as NodeAnswers['GET /api/shares/{id}/uses'])
    .uses

async function folder(user: TestUser, path: string): Promise<void> {
  await call(user, 'POST', '/mkdir', { path })
}

test('guests upload, blind, and nothing is overwritten', async (t) => {
  const ada = await node.signIn()
  await put(ada, '/in/a.txt', 'mine')
  const { path, id } = await link(ada, '/in', { kind: 'drop', askSender: true })
  const page = await (await node.fetch(path)).text()
  t.match(page, 'Upload to &quot;in&quot;')
  t.match(page, 'name="sender"')
  t.match(page, />A file has at most [\d.]+ GB\.</, 'limits that are far away are not told')
  t.notMatch(page, 'a.txt')
  for (const action of [
    '/file?path=/a.txt',
    '/view?path=/a.txt',
    '/zip',
    '/preview?path=/a.txt',
    '?path=/a.txt',
  ])
    t.equal((await node.fetch(`${path}${action}`)).status, 404, action)

  t.equal(await upload(node, path, 'a.txt', 'from a guest', 'Bob'), 204)
  const form = await sendForm(node, path, { 'a.txt': 'by a form', 'b.txt': '' }, 'Eve\n<script>')
  t.equal(form.status, 200)
  const thanks = await form.text()
  t.match(thanks, '2 files have arrived')
  t.notMatch(thanks, '(3)', 'the name in the folder is not told')
  t.strictSame(await namesIn(ada, '/in'), ['a (2).txt', 'a (3).txt', 'a.txt', 'b.txt'])
  t.equal(await read(ada, '/in/a.txt'), 'mine')
  t.equal(await read(ada, '/in/a (2).txt'), 'from a guest')
  t.equal(await read(ada, '/in/a (3).txt'), 'by a form')
  t.match(await shareOf(ada, id), { dropped: { files: 3, bytes: 21 }, used: { uploads: 3 } })
  t.match(
    (await usesOf(ada, id)).filter(({ kind }) => kind === 'upload'),
    [
      { name: 'b.txt', sender: 'Eve <script>' },
      { name: 'a.txt', sender: 'Eve <script>' },
      { name: 'a.txt', sender: 'Bob' },
    ],
  )
  const { changes } = (await (await ada.fetch('/api/files/changes/newest?path=/in')).json()) as {
    changes: { path: string; by?: string }[]
  }
  t.equal(changes.find((change) => change.path === '/in/a (2).txt')?.by, 'Bob (guest)')
})

test('with "both", guests see the files of each other', async (t) => {
  const ada = await node.signIn()
  await folder(ada, '/both')
  const { path } = await link(ada, '/both', { kind: 'both' })
  t.equal(await upload(node, path, 'x.txt', 'x'), 204)
  const page = await (await node.fetch(path)).text()
  t.match(page, '<bdi>x.txt</bdi>')
  t.match(page, 'Everybody with this link sees the files.')
  t.equal(await (await node.fetch(`${path}/file?path=/x.txt`)).text(), 'x')
})

test('nobody uploads by a link to read', async (t) => {
  const ada = await node.signIn()
  await folder(ada, '/read')
  const { path } = await link(ada, '/read')
  t.equal((await sendForm(node, path, { a: 'a' })).status, 404)
  t.equal((await begin(node, path, 'a', 1)).status, 404)
  t.strictSame(await namesIn(ada, '/read'), [])
})

test('names of guests lead nowhere', async (t) => {
  const ada = await node.signIn()
  await folder(ada, '/names')
  const { path } = await link(ada, '/names', { kind: 'drop' })
  const names = ['../../up.txt', 'C:\\up.txt', '/etc/up.txt', '..', '.nodekeep', 'a\0b', '\u202egnp.exe', '']
  for (const name of names) t.equal(await upload(node, path, name, 'x'), 204, JSON.stringify(name))
  t.equal((await sendForm(node, path, { '../form.txt': 'x' })).status, 200)
  const stored = await namesIn(ada, '/names')
  t.strictSame(stored.sort(), [
    'ab',
    'file',
    'file (2)',
    'form.txt',
    'gnp.exe',
    'nodekeep',
    'up (2).txt',
    'up (3).txt',
    'up.txt',
  ])
  t.strictSame(await namesIn(ada, '/'), ['names'])
})

test('an upload goes on after it broke off, for its link alone', async (t) => {
  const ada = await node.signIn()
  await folder(ada, '/broken')
  const { path } = await link(ada, '/broken', { kind: 'drop' })
  const other = await link(ada, '/broken', { kind: 'drop' })
  const begun = await begin(node, path, 'a.txt', 10)
  t.match(begun.headers.get('upload-expires'), /GMT$/)
  const address = begun.headers.get('location') ?? ''
  t.equal((await patch(node, address, 0, '0123')).headers.get('upload-offset'), '4')
  t.equal(await offsetOf(node, address), 4)
  t.equal((await patch(node, address, 2, '23')).status, 409, 'another offset')
  t.equal((await patch(node, address.replace(path, other.path), 4, '4')).status, 404, 'another link')
  t.strictSame(await namesIn(ada, '/broken'), [], 'nothing is there before its end')
  t.equal((await patch(node, address, 4, '4567890')).status, 413, 'more than its length')
  t.equal((await patch(node, address, 4, '456789')).status, 204)
  t.equal(await read(ada, '/broken/a.txt'), '0123456789')
  t.equal(await offsetOf(node, address), 10, 'a guest who lost the last answer learns that it has ended')
  t.equal((await patch(node, address, 10, '')).status, 204)
  t.equal((await patch(node, address, 9, '9')).status, 409)
  t.equal((await patch(node, address.replace(path, other.path), 10, '')).status, 404)
  t.strictSame(await namesIn(ada, '/broken'), ['a.txt'])
})

test('uploads end with their link, and leave nothing', async (t) => {
  const ada = await node.signIn()
  await folder(ada, '/ends')
  const { path, id } = await link(ada, '/ends', { kind: 'drop' })
  const address = (await begin(node, path, 'a.txt', 100)).headers.get('location') ?? ''
  t.equal((await patch(node, address, 0, '0123')).status, 204)
  const staged = join(
    node.dataFolder,
    'plugins/shares/not-in-backups/staged',
    address.split('/').at(-1) ?? '',
  )
  const isStaged = () => readdirSync(join(staged, '..')).includes(staged.split('/').at(-1) ?? '')
  t.ok(isStaged())
  await ada.fetch(`/api/shares/${id}`, { method: 'DELETE' })
  t.equal((await patch(node, address, 4, '4')).status, 404)
  t.notOk(isStaged())
})

test('a form whose client leaves stores nothing of the file that broke off', async (t) => {
  const ada = await node.signIn()
  await folder(ada, '/leaves')
  const { path, id } = await link(ada, '/leaves', { kind: 'drop', maxFiles: 2 })
  const socket = connect(Number(node.url.port), node.url.hostname)
  await once(socket, 'connect')
  const part = (name: string) =>
    `--x\r\ncontent-disposition: form-data; name="file"; filename="${name}"\r\n\r\n`
  const head = `POST ${path}/drop HTTP/1.1\r\nhost: ${node.url.host}\r\ncontent-type: multipart/form-data; boundary=x\r\ncontent-length: 100000\r\n\r\n`
  socket.write(`${head}${part('whole')}whole\r\n${part('half')}half`)
  while ((await shareOf(ada, id))?.dropped.files !== 1) await delay(20)
  socket.destroy()
  // Its place is free again once the node has noticed that the client left.
  while ((await upload(node, path, 'last', 'x')) !== 204) await delay(20)
  t.strictSame(await namesIn(ada, '/leaves'), ['last', 'whole'])
})

test('a form that is too large, or does not tell its length, is refused before others give way', async (t) => {
  const ada = await node.signIn()
  await folder(ada, '/small')
  const { path } = await link(ada, '/small', { kind: 'drop', maxBytes: 10 })
  const form = new FormData()
  form.append('file', new File(['x'.repeat(1_000_000)], 'large'))
  const refused = await node.fetch(`${path}/drop`, { method: 'POST', body: form })
  t.equal(refused.status, 507)
  t.match(await refused.text(), 'This link takes at most 10 more bytes.')
  const endless = new Response(form).body
  const headers = { 'content-type': 'multipart/form-data; boundary=x' }
  const init = { method: 'POST', headers, body: endless, duplex: 'half' } as RequestInit
  t.equal((await node.fetch(`${path}/drop`, init)).status, 400)
  t.strictSame(await namesIn(ada, '/small'), [])
})
