import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { importer } from 'ipfs-unixfs-importer'
import type { CID } from 'multiformats/cid'
import t from 'tap'
import { createIpfsNode, post, publications, publish, put, states, withdraw } from '../fixtures/ipfs-node.ts'

const oddNames = [
  'percent %2F',
  'question?',
  'hash#',
  '"quotes\'',
  ' spaces ',
  'ümläut',
  '日本語',
  '🙂',
  '-rf',
  '~',
  '__proto__',
  '%',
]

t.test('names of all kinds are published as they are', async (t) => {
  const node = await createIpfsNode()
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  for (const name of oddNames) {
    await put(ada, `/odd/${name}`, `file ${name}`)
    await put(ada, `/odd/in ${name}/${name}`, `deep ${name}`)
  }
  await post(ada, '/mkdir', { path: '/odd/empty' })
  const { cid, files } = await publish(ada, '/odd')
  t.equal(files, 2 * oddNames.length)
  const read = async (...names: string[]) => {
    const answer = await node.fetch(`/ipfs/${cid}/${names.map(encodeURIComponent).join('/')}`)
    return answer.ok ? answer.text() : answer.status
  }
  for (const name of oddNames) {
    t.equal(await read(name), `file ${name}`)
    t.equal(await read(`in ${name}`, name), `deep ${name}`)
  }
  t.type(await read('empty'), 'string', 'an empty folder is there')
})

t.test('a folder with 10,000 files has the address that the importer gives it', async (t) => {
  const node = await createIpfsNode()
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  const folder = join(node.dataFolder, 'files', ada.user.uuid, 'large')
  await put(ada, '/large/first', 'first')
  await mkdir(join(folder, 'below'))
  const names = Array.from({ length: 10_000 }, (_, index) => `file number ${index}`)
  for (const name of names) await writeFile(join(folder, name), name)
  await writeFile(join(folder, 'below', 'one'), 'one')
  const published = await publish(ada, '/large')

  const blocks = { put: async (cid: CID) => cid }
  const entries = [...names, 'first', 'below/one'].map((path) => ({
    path,
    content: Buffer.from(path === 'below/one' ? 'one' : path),
  }))
  let root = ''
  for await (const { cid } of importer(entries, blocks, {
    profile: 'unixfs-v1-2025',
    wrapWithDirectory: true,
  }))
    root = String(cid)
  t.match(published, { cid: root, files: 10_002 })
  t.equal(await (await node.fetch(`/ipfs/${root}/file%20number%209999`)).text(), 'file number 9999')
  const list = await (await node.fetch(`/ipfs/${root}`)).text()
  t.equal(list.split('<tr>').length - 1, 10_000, 'a page of bounded size')
  t.match(list, /The folder has more entries than the 10000 of this page/)
  t.match(list, `href="/ipfs/${root}?format=car"`)
  await put(ada, '/large/first', 'changed')
  t.match(await publications(ada), { publications: [{ state: 'changed' }] })
})

t.test('what exceeds a limit is not published', async (t) => {
  const publishing = { maxEntries: 4, maxDepth: 2, maxBytes: 10, maxPublications: 1 }
  const node = await createIpfsNode({ config: { ipfs: { publishing } } })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  await put(ada, '/large', 'x'.repeat(11))
  await put(ada, '/parts/a', 'x'.repeat(6))
  await put(ada, '/parts/b', 'x'.repeat(6))
  await put(ada, '/deep/a/b/c', 'x')
  for (const name of ['a', 'b', 'c', 'd', 'e']) await put(ada, `/many/${name}`, 'x')
  const refused = async (path: string) => (await post(ada, '/api/ipfs/publish', { path })).json()
  t.match(await refused('/large'), { code: 'PAYLOAD_TOO_LARGE', message: /10 bytes/ })
  t.match(await refused('/parts'), { code: 'PAYLOAD_TOO_LARGE', message: /10 bytes/ })
  t.match(await refused('/deep'), { code: 'VALIDATION_ERROR', message: /2 folders/ })
  t.match(await refused('/many'), { code: 'PAYLOAD_TOO_LARGE', message: /4 files/ })
  t.match(await refused('/none'), { code: 'NOT_FOUND' })
  t.match(await refused('/../x'), { code: 'VALIDATION_ERROR' })
  t.same(new Set(Object.values(await states(ada))), new Set(['failed']))
  t.equal((await publications(ada)).bytes, 0)
  const { id } = await publish(ada, '/deep/a')
  t.match(await refused('/many/a'), { code: 'CONFLICT', message: /the 1 publications that are allowed/ })
  await withdraw(ada, id)
  t.match(await publish(ada, '/many/a'), { files: 1 })
})
