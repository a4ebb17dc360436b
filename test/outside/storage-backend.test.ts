import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { consumerForTest } from './consumer.ts'
import { makePlugin } from './made-plugin.ts'
import { run, start } from './terminal.ts'

const nodekeep = 'node_modules/.bin/nodekeep'
const wallet = '0x52908400098527886E0F7030069857D2E4169EE7'

const { folder } = await consumerForTest(t)

t.test('a storage backend of the scaffold passes the suite and keeps the files of a node', async (t) => {
  const { plugin, tests } = await makePlugin(t, folder, 'storage', 'my-backend')
  t.match(tests, /written files exist after a close and a new start/)

  await writeFile(
    join(folder, 'archive.json'),
    JSON.stringify({
      data: './archive-data',
      server: { port: 0 },
      plugins: { files: true, 'storage-my-backend': { from: plugin } },
      storage: { mounts: { '/': 'my-backend' } },
    }),
  )
  const bytes = Buffer.alloc(700_000, 'Files in one database. ')
  const first = await start(t, folder, `exec ${nodekeep} start --config archive.json`)
  const token = (
    await run(folder, `${nodekeep} session create --config archive.json --wallet ${wallet}`)
  ).trim()
  const authorization = `Bearer ${token}`
  const form = new FormData()
  form.set('path', '/letters/to Grace.txt')
  form.set('file', new Blob([bytes]))
  const stored = await fetch(new URL('/write', first.url), {
    method: 'POST',
    headers: { authorization },
    body: form,
  })
  t.strictSame(await stored.json(), { success: true, path: '/letters/to Grace.txt' })
  t.equal(await first.stop(), 0)

  const second = await start(t, folder, `exec ${nodekeep} start --config archive.json`)
  const call = (path: string) => fetch(new URL(path, second.url), { headers: { authorization } })
  t.match(await (await call('/readdir?path=/letters')).json(), [{ name: 'to Grace.txt', size: bytes.length }])
  const read = await call('/read?path=/letters/to%20Grace.txt')
  t.equal(read.status, 200)
  t.ok(bytes.equals(Buffer.from(await read.arrayBuffer())), 'the bytes are the stored ones')
  t.equal(await second.stop(), 0)
})
