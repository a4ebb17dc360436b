import { access, mkdir, open, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { needsPrograms } from '@nodekeep/kernel/testing'
import t, { type Test } from 'tap'
import { type DavNode, startDavNode } from './fixtures/dav-node.ts'
import { runProgram } from './fixtures/run-program.ts'

t.setTimeout(180_000)

const mayMount = process.getuid?.() === 0 && (await access('/dev/fuse').then(() => true, () => false))
const skip = needsPrograms('mount.davfs') || (!mayMount && 'Only root with /dev/fuse may mount.')

/** Mounts the files of a node. Returns the folder, and a function that ends the mount when everything is sent. */
async function mount(t: Test, { address, username, password }: DavNode) {
  const folder = t.testdir({ files: {}, cache: {} })
  const [files, secrets, conf] = [join(folder, 'files'), join(folder, 'secrets'), join(folder, 'davfs2.conf')]
  await writeFile(secrets, `${address} ${username} ${password}\n`, { mode: 0o600 })
  // It sends and asks at once, so that no test waits for its caches.
  const settings = [
    `secrets ${secrets}`,
    `cache_dir ${join(folder, 'cache')}`,
    'dav_user root',
    'dav_group root',
    'use_locks 1',
    'delay_upload 0',
    'dir_refresh 1',
    'file_refresh 0',
    'ask_auth 0',
  ]
  await writeFile(conf, `${settings.join('\n')}\n`)
  const mounted = await runProgram('mount.davfs', ['-o', `conf=${conf}`, address, files])
  if (mounted.code !== 0) throw new Error(`The mount: ${mounted.output}`)
  let isMounted = true
  const unmount = async () => {
    if (!isMounted) return
    isMounted = false
    // Waits until all is sent.
    const { code, output } = await runProgram('umount', [files])
    t.equal(code, 0, output)
  }
  t.teardown(unmount)
  return { files, unmount }
}

t.test('a mount of davfs2 reads, writes, renames and deletes files', { skip }, async (t) => {
  const node = await startDavNode(t)
  await node.write('/Recipes/Apple cake.txt', '3 apples\n')
  const { files, unmount } = await mount(t, node)
  t.strictSame(await readdir(join(files, 'Recipes')), ['Apple cake.txt'])
  t.equal(await readFile(join(files, 'Recipes/Apple cake.txt'), 'utf8'), '3 apples\n')

  await mkdir(join(files, 'Letters'))
  const large = Buffer.alloc(5_000_000, 'Dear Ms. Lindt,\n')
  await writeFile(join(files, 'Letters/Zoë & 100%.txt'), large)
  const appended = await open(join(files, 'Recipes/Apple cake.txt'), 'a')
  await appended.write('2 eggs\n')
  await appended.close()
  await rename(join(files, 'Recipes/Apple cake.txt'), join(files, 'Letters/cake.txt'))
  await rm(join(files, 'Recipes'), { recursive: true })
  t.equal((await stat(join(files, 'Letters/Zoë & 100%.txt'))).size, large.length)
  await unmount()
  t.equal(await node.read('/Letters/Zoë & 100%.txt'), large.toString())
  t.equal(await node.read('/Letters/cake.txt'), '3 apples\n2 eggs\n')
  const top = (await (await node.user.fetch('/readdir?path=/')).json()) as { name: string }[]
  t.notOk(top.some(({ name }) => name === 'Recipes'))
})

t.test('a mount of davfs2 sees what came in by another way', { skip }, async (t) => {
  const node = await startDavNode(t)
  await node.write('/one.txt', 'one')
  const { files } = await mount(t, node)
  t.equal(await readFile(join(files, 'one.txt'), 'utf8'), 'one')
  await node.write('/two.txt', 'two')
  while (!(await readdir(files)).includes('two.txt')) await delay(50)
  t.equal(await readFile(join(files, 'two.txt'), 'utf8'), 'two')
})
