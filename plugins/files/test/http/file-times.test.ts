import { existsSync, lstatSync, mkdtempSync, rmSync, utimesSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { unzipSync } from 'fflate'
import t from 'tap'
import { createFilesNode, get, post, put, upload } from '../fixtures/files-node.ts'

t.test('a client sets the time of a file', async (t) => {
  const node = await createFilesNode({ mounts: { '/memory': 'memory' } })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  const timeOf = async (path: string) =>
    ((await (await get(ada, 'stat', path)).json()) as { modified: string }).modified

  for (const send of [put, upload]) {
    for (const path of ['/file', '/memory/file']) {
      for (const [header, time] of [
        ['981173106', '2001-02-03T04:05:06.000Z'],
        ['981173106.789', '2001-02-03T04:05:06.789Z'],
        ['0', '1970-01-01T00:00:00.000Z'],
        ['-86400', '1969-12-31T00:00:00.000Z'],
        ['-847983600.123', '1943-02-17T08:59:59.877Z'],
        ['1700000000.001', '2023-11-14T22:13:20.001Z'],
      ] as const) {
        const answer = await send(ada, path, 'x', { 'x-oc-mtime': header })
        t.equal(answer.status, 200)
        t.equal(answer.headers.get('x-oc-mtime'), 'accepted')
        t.equal(await timeOf(path), time)
        t.equal(
          (await get(ada, 'read', path)).headers.get('last-modified'),
          new Date(Math.floor(Date.parse(time) / 1000) * 1000).toUTCString(),
        )
      }
    }
  }

  t.test('a time in the future is not kept, and not accepted', async (t) => {
    const future = Math.floor(Date.now() / 1000) + 86_400
    const answer = await put(ada, '/file', 'x', { 'x-oc-mtime': String(future) })
    t.equal(answer.status, 200)
    t.equal(answer.headers.get('x-oc-mtime'), null)
    t.ok(Date.parse(await timeOf('/file')) < future * 1000)
  })

  t.test('a time that the storage cannot keep is not kept, and not accepted', async (t) => {
    for (const time of ['-000001-12-31', '1601-01-01']) {
      const before = Date.now() - 2000
      const sent = Date.parse(time)
      for (const path of ['/file', '/memory/file']) {
        const answer = await put(ada, path, 'x', { 'x-oc-mtime': String(sent / 1000) })
        t.equal(answer.status, 200)
        const kept = Date.parse(await timeOf(path))
        t.ok(kept === sent || kept > before, `${path} has the time ${time}, or that of the write`)
        t.equal(answer.headers.get('x-oc-mtime'), kept === sent ? 'accepted' : null)
      }
    }
  })

  t.test('without the header, the time is that of the write', async (t) => {
    const before = Date.now() - 2000
    const answer = await put(ada, '/file', 'x')
    t.equal(answer.headers.get('x-oc-mtime'), null)
    t.ok(Date.parse(await timeOf('/file')) > before)
  })

  t.test('anything but a number of seconds is refused, and the file stays', async (t) => {
    const etag = (await put(ada, '/file', 'kept')).headers.get('etag')
    for (const header of [
      '',
      'now',
      '0x10',
      '1e9',
      '2001-02-03',
      '12345678901234',
      '9999999999999',
      '1 2',
      '--1',
    ]) {
      const answer = await put(ada, '/file', 'lost', { 'x-oc-mtime': header })
      t.equal(answer.status, 400, header)
      t.match(await answer.json(), { code: 'VALIDATION_ERROR', message: /x-oc-mtime.*seconds since 1970/ })
    }
    t.equal((await get(ada, 'read', '/file')).headers.get('etag'), etag)
  })
})

/** Linux keeps any time of a file here. */
const memory = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'nodekeep-times-'))
t.teardown(() => rmSync(memory, { recursive: true, force: true }))

/** Seconds since 1970, beyond the range of `Date`. */
const impossible = '99999999999999'

t.test('files with impossible times are files as others', { skip: lacksImpossibleTimes() }, async (t) => {
  const node = await createFilesNode(
    { mounts: { '/odd': 'odd' } },
    { config: { plugins: { odd: { from: 'storage-local' } }, odd: { root: memory } } },
  )
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  await put(ada, '/odd/folder/file', 'content')
  await put(ada, '/odd/other', 'other')
  const home = join(memory, ada.user.uuid)
  for (const path of ['folder/file', 'folder', 'other']) utimesSync(join(home, path), impossible, impossible)
  const modified = new Date(0).toISOString()

  t.match(await (await get(ada, 'api/files/list', '/odd')).json(), {
    entries: [
      { name: 'folder', modified },
      { name: 'other', modified },
    ],
  })
  t.match(await (await get(ada, 'readdir', '/odd')).json(), [{ modified }, { modified }])
  t.match(await (await get(ada, 'stat', '/odd/folder/file')).json(), { size: 7, modified })
  const read = await get(ada, 'read', '/odd/folder/file')
  t.equal(read.headers.get('last-modified'), 'Thu, 01 Jan 1970 00:00:00 GMT')
  t.equal(await read.text(), 'content')
  const archive = await get(ada, 'api/files/archive', '/odd')
  const unpacked = unzipSync(new Uint8Array(await archive.arrayBuffer()))
  t.strictSame(Object.keys(unpacked).sort(), ['odd/', 'odd/folder/', 'odd/folder/file', 'odd/other'])

  for (const [endpoint, destination] of [
    ['api/files/copy', '/copy'],
    ['api/files/copy', '/odd/copy'],
    ['move', '/odd/moved'],
    ['move', '/moved'],
  ] as const) {
    const source = destination === '/moved' ? '/odd/moved' : '/odd/folder'
    const answer = await post(ada, endpoint, { source, destination })
    t.equal(answer.status, 200, `${endpoint} to ${destination}`)
    t.match(await (await get(ada, 'stat', `${destination}/file`)).json(), { size: 7, modified })
  }
  t.equal((await put(ada, '/odd/other', 'replaced')).status, 200)
})

/** The reason why the test cannot run; false if it can. */
function lacksImpossibleTimes(): string | false {
  utimesSync(memory, impossible, impossible)
  const isKept = Number.isNaN(lstatSync(memory).mtime.getTime())
  return isKept ? false : 'No file system here keeps impossible times.'
}
