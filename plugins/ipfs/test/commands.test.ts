import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { CarReader } from '@ipld/car'
import { runCommand } from '@nodekeep/kernel/testing'
import t from 'tap'
import { createIpfsNode, post, publications, put } from './fixtures/ipfs-node.ts'

t.test('the commands publish, list, export, import, verify and withdraw', async (t) => {
  const node = await createIpfsNode()
  t.teardown(() => node.stop())
  const folder = t.testdir({ 'nodekeep.json': JSON.stringify({ plugins: { ipfs: true } }) })
  const run = (...args: string[]) =>
    runCommand(['ipfs', ...args, '--config', join(folder, 'nodekeep.json'), '--data', node.dataFolder], {
      cwd: folder,
    })
  const owner = await node.signIn('owner')
  await put(owner, '/docs/a.txt', 'hello')
  await put(owner, '/docs/deep/b.txt', 'world')
  t.match(await run('list'), { code: 0, stdout: /Nothing is published/ })
  const published = await run('publish', '/docs', '--json')
  t.equal(published.code, 0, published.stderr)
  const { id, cid, address } = JSON.parse(published.stdout)
  t.equal(address, `${node.url}ipfs/${cid}`)
  t.match(JSON.parse((await run('list', '--json')).stdout), [
    { id, address, path: '/docs', state: 'published' },
  ])
  t.match(await run('publish', '/none'), { code: 1, stderr: /none/ })
  const text = JSON.parse((await run('publish', '/docs/a.txt', '--json')).stdout)
  t.equal(text.address, `${node.url}ipfs/${text.cid}?filename=a.txt`, 'a browser shows it as a text')

  const file = join(folder, 'docs.car')
  t.match(await run('export', cid, file), { code: 0 })
  const reader = await CarReader.fromBytes(await readFile(file))
  t.same((await reader.getRoots()).map(String), [cid])
  t.match(await run('export', cid, file), { code: 1, stderr: /already/ }, 'no file is replaced')
  t.match(await run('export', address, join(folder, 'same.car')), { code: 0 })
  t.ok((await readFile(join(folder, 'same.car'))).equals(await readFile(file)))
  t.match(await run('import', join(folder, 'none.car'), '/docs'), { code: 1, stderr: /There is no file/ })
  t.match(await run('import', folder, '/docs'), { code: 1, stderr: /is no file/ })
  t.match(await run('import', file, '/taken'), { code: 1, stderr: /nothing at/ })
  await post(owner, '/mkdir', { path: '/taken' })
  const imported = await run('import', file, '/taken', '--json')
  t.equal(imported.code, 0, imported.stderr)
  t.match(JSON.parse(imported.stdout), { cid, files: 2, path: '/taken/docs' })
  t.equal(await (await owner.fetch('/read?path=/taken/docs/deep/b.txt')).text(), 'world')

  t.match(await run('verify'), { code: 0, stdout: /damaged +0/ })
  const packs = join(node.dataFolder, 'plugins/ipfs/not-in-backups/packs')
  for (const name of await readdir(packs)) {
    const bytes = await readFile(join(packs, name))
    const place = bytes.indexOf('hello')
    if (place >= 0) bytes[place] = 0
    await writeFile(join(packs, name), bytes)
  }
  const found = await run('verify')
  t.match(found, { code: 1, stdout: new RegExp(`publication ${id} of /docs`), stderr: /damaged/ })
  const health = await (await owner.fetch('/api/system/health')).json()
  t.match(health, {
    checks: { ipfs: { message: /^The block \S+ is damaged\. "\S.* ipfs verify" names what is damaged\.$/ } },
  })
  t.match(await run('publish', '/docs'), { code: 0 })
  t.match(await run('verify'), { code: 0, stdout: /damaged +0/ }, 'what is published again is whole')

  t.match(await run('withdraw', id), { code: 0 })
  t.match(await run('withdraw', id), { code: 1, stderr: /no such publication/ })
  t.match(await run('withdraw', text.id), { code: 0 })
  t.same((await publications(owner)).publications, [])
  t.match(await run('export', cid, join(folder, 'other.car')), { code: 1 })
})
