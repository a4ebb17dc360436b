import { readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { createTestNode, runCommand, type TestNode, type TestUser } from '@nodekeep/kernel/testing'
import t from 'tap'
import type { Configuration } from '../src/configuration.ts'
import { connect } from '../src/server/connect.ts'
import { faultyProxy } from './fixtures/faulty-proxy.ts'
import { newBucket } from './fixtures/s3-bucket.ts'
import { needsS3Clock, needsS3Server, s3Server } from './fixtures/s3-server.ts'

/** A node with its files on the disk and the folder `/archive` in a bucket, or with other mounts. */
function createS3Node(
  config: Partial<Configuration>,
  mounts: Record<string, string> = { '/': 'local', '/archive': 's3' },
  dataFolder?: string,
): Promise<TestNode> {
  return createTestNode({
    ...(dataFolder !== undefined && { dataFolder }),
    folder: import.meta.dirname,
    config: {
      plugins: { files: true, 'storage-local': true, 'storage-s3': true },
      'storage-s3': config,
      storage: { mounts },
    },
  })
}

const put = (user: TestUser, path: string, body: string | Uint8Array<ArrayBuffer>) =>
  user.fetch(`/write?path=${encodeURIComponent(path)}`, { method: 'PUT', body })
const read = (user: TestUser, path: string) => user.fetch(`/read?path=${encodeURIComponent(path)}`)
const post = (user: TestUser, endpoint: string, body: object) =>
  user.fetch(`/${endpoint}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })

/** The requests of a probe that copy an object. */
const copies = { method: 'PUT', key: /\/probe\/.*\/copy$/ }

/** The check of the plugin in the health report of the owner. */
async function healthOf(node: TestNode): Promise<{ ok: boolean; state: string; message?: string }> {
  const owner = await node.signIn('owner')
  const { checks } = (await (await owner.fetch('/api/system/health')).json()) as {
    checks: Record<string, { ok: boolean; state: string; message?: string }>
  }
  return checks['storage-s3'] as { ok: boolean; state: string; message?: string }
}

t.test('users keep files in a bucket', { skip: needsS3Server }, async (t) => {
  const server = await s3Server()
  t.teardown(() => server.stop())
  const proxy = await faultyProxy(server)
  t.teardown(() => proxy.close())

  t.test('their files are objects under their own names, for other programs too', async (t) => {
    const config = await newBucket(server)
    const s3 = await connect(config)
    t.teardown(() => s3.destroy())
    const node = await createS3Node(config, { '/': 's3' })
    t.teardown(() => node.stop())
    const ada = await node.signIn()
    t.equal((await put(ada, '/photos/2026/ä b.txt', 'hello')).status, 200)
    const Key = `${config.prefix}${ada.user.uuid}/photos/2026/ä b.txt`
    const object = await s3.getObject({ Bucket: config.bucket, Key })
    t.equal(await object.Body?.transformToString(), 'hello')

    const other = `${config.prefix}${ada.user.uuid}/photos/other.txt`
    await s3.putObject({ Bucket: config.bucket, Key: other, Body: 'by another program' })
    t.equal(await (await read(ada, '/photos/other.txt')).text(), 'by another program')
    t.equal((await post(ada, 'move', { source: '/photos', destination: '/moved' })).status, 200)
    const names = async (path: string) =>
      ((await (await ada.fetch(`/readdir?path=${path}`)).json()) as { name: string }[]).map(
        ({ name }) => name,
      )
    t.strictSame(await names('/moved'), ['2026', 'other.txt'])
    t.strictSame(await names('/'), ['moved'])
    const page = (await (await ada.fetch('/api/files/list?path=/moved')).json()) as {
      entries: { name: string; revision?: string }[]
    }
    t.ok(page.entries[1]?.revision, 'pages tell revisions')
    t.equal((await post(ada, 'delete', { path: '/moved/2026/ä b.txt' })).status, 200)
    t.strictSame(await names('/moved/2026'), [], 'a folder stays when its last file is gone')
    t.equal((await post(ada, 'delete', { path: '/moved' })).status, 200)
    const { Contents = [] } = await s3.listObjectsV2({
      Bucket: config.bucket,
      Prefix: `${config.prefix}${ada.user.uuid}/`,
    })
    t.strictSame(
      Contents.map(({ Key }) => Key),
      [`${config.prefix}${ada.user.uuid}/`],
      'nothing is left in the bucket',
    )
  })

  t.test('a node starts while the server is away, its other folders work, and it heals', async (t) => {
    const config = { ...(await newBucket(server)), endpoint: proxy.endpoint }
    await proxy.refuse()
    const node = await createS3Node(config)
    t.teardown(() => node.stop())
    const ada = await node.signIn()
    t.equal((await put(ada, '/disk.txt', 'on the disk')).status, 200)
    t.equal((await put(ada, '/archive/a.txt', 'x')).status, 503)
    t.equal((await read(ada, '/archive/a.txt')).status, 503)
    t.equal((await ada.fetch('/readdir?path=/archive')).status, 503)
    t.match(await healthOf(node), { ok: false, state: 'unreachable' })
    await proxy.accept()
    t.equal((await put(ada, '/archive/a.txt', 'stored')).status, 200)
    // A report holds for a second.
    while (!(await healthOf(node)).ok) await delay(20)
    t.match(await healthOf(node), { state: 'available' })
    t.equal(await (await read(ada, '/archive/a.txt')).text(), 'stored')
  })

  t.test('a node asks the server nothing before somebody uses the storage, then what it keeps', async (t) => {
    const config = { ...(await newBucket(server)), endpoint: proxy.endpoint }
    const dataFolder = t.testdir()
    const first = await createS3Node(config, undefined, dataFolder)
    t.teardown(() => first.stop())
    const { token, ...user } = await first.signIn()
    // The index is built once.
    const usage = async () =>
      (await first.fetch('/api/files/usage', { headers: { authorization: `Bearer ${token}` } })).json()
    while (!((await usage()) as { isComplete: boolean }).isComplete) await delay(20)
    await first.stop()
    proxy.reset()
    const node = await createS3Node(config, undefined, dataFolder)
    t.teardown(() => node.stop())
    const ada: TestUser = {
      ...user,
      token,
      fetch: (path, init = {}) =>
        node.fetch(path, {
          ...init,
          headers: { ...(init.headers as object), authorization: `Bearer ${token}` },
        }),
    }
    t.equal((await put(ada, '/disk.txt', 'on the disk')).status, 200)
    t.equal((await read(ada, '/disk.txt')).status, 200)
    t.strictSame(proxy.requests, [])
    const probe = proxy.disturb({ delayMs: 0 }, { key: /\.nodekeep\/probe\// })
    t.equal((await read(ada, '/archive/a.txt')).status, 404)
    t.equal((await probe.hit).method, 'PUT')
    proxy.reset()
  })

  t.test('a server on which files are not safe gets none', async (t) => {
    const config = { ...(await newBucket(server)), endpoint: proxy.endpoint }
    const copy = proxy.disturb({ status: 501, code: 'NotImplemented' }, copies)
    const node = await createS3Node(config)
    t.teardown(() => node.stop())
    const ada = await node.signIn()
    t.equal((await read(ada, '/archive/a.txt')).status, 404)
    await copy.hit
    while ((await healthOf(node)).ok) await delay(20)
    t.match(await healthOf(node), {
      state: 'unsafe',
      message: /copies objects by itself.*Use another server/,
    })
    const refused = await put(ada, '/archive/b.txt', 'x')
    t.equal(refused.status, 503)
    t.match(await refused.text(), /does not keep files safely/)
    proxy.reset()
    t.equal((await read(ada, '/archive/b.txt')).status, 503, 'until the next probe')
  })

  t.test('a full bucket takes no file, and says so', async (t) => {
    const config = { ...(await newBucket(server)), endpoint: proxy.endpoint }
    const node = await createS3Node(config)
    t.teardown(() => node.stop())
    const ada = await node.signIn()
    proxy.disturb({ status: 403, code: 'QuotaExceeded' }, { method: 'PUT', key: /full\.txt$/ })
    const answer = await put(ada, '/archive/full.txt', 'x')
    proxy.reset()
    t.equal(answer.status, 507)
    t.match(await answer.text(), /The bucket is full/)
    t.equal((await read(ada, '/archive/full.txt')).status, 404)
  })

  for (const [code, message] of [
    ['ExpiredToken', /credentials have expired/],
    ['AuthorizationHeaderMalformed', /another region/],
  ] as const) {
    t.test(`the owner learns what to do about ${code}`, async (t) => {
      const node = await createS3Node({ ...(await newBucket(server)), endpoint: proxy.endpoint })
      t.teardown(() => node.stop())
      const ada = await node.signIn()
      proxy.disturb({ status: 400, code })
      t.equal((await read(ada, '/archive/a.txt')).status, 503)
      t.match(await healthOf(node), { ok: false, message })
      proxy.reset()
    })
  }

  for (const [what, change, message] of [
    ['a bucket is missing', () => ({ bucket: 'no-such-bucket' }), /no bucket "no-such-bucket"/],
    ['the secret is wrong', () => ({ secretAccessKey: 'wrong' }), /refuses the credentials/],
    ['the key has no rights', () => server.stranger, /lack rights on the bucket/],
  ] as const) {
    t.test(`if ${what}, no file counts as missing, and the owner learns why`, async (t) => {
      const node = await createS3Node({ ...(await newBucket(server)), ...change() })
      t.teardown(() => node.stop())
      const ada = await node.signIn()
      t.equal((await read(ada, '/archive/a.txt')).status, 503)
      t.equal((await ada.fetch('/stat?path=/archive/a.txt')).status, 503)
      t.equal((await ada.fetch('/readdir?path=/archive')).status, 503)
      const answer = await put(ada, '/archive/a.txt', 'x')
      t.equal(answer.status, 503)
      t.notMatch(await answer.text(), /bucket|credential|secret/i, 'clients learn nothing about the server')
      t.match(await healthOf(node), { ok: false, message })
    })
  }

  t.test('credentials of a file are read again when they have expired', async (t) => {
    const { accessKeyId, secretAccessKey, ...config } = await newBucket(server)
    const file = join(t.testdir(), 'credentials')
    const keys = (secret: string) =>
      `[home]\naws_access_key_id = ${accessKeyId}\naws_secret_access_key = ${secret}\n`
    await writeFile(file, keys('of yesterday'))
    const s3 = await connect({ ...config, credentialsFile: file, profile: 'home' })
    t.teardown(() => s3.destroy())
    const list = () => s3.listObjectsV2({ Bucket: config.bucket })
    await t.rejects(list(), { name: 'SignatureDoesNotMatch' })
    await writeFile(`${file}.new`, keys(secretAccessKey ?? ''))
    await rename(`${file}.new`, file)
    t.match(await readFile(file, 'utf8'), /home/)
    const now = Date.now()
    t.intercept(Date, 'now', { value: () => now + 2 * 60_000 })
    t.equal((await list()).KeyCount, 0)
  })

  t.test('a clock that is off by an hour does no harm', { skip: needsS3Clock }, async (t) => {
    const config = await newBucket(server)
    await server.kill()
    await server.start({ clockOffset: 3600 })
    const node = await createS3Node(config)
    t.teardown(() => node.stop())
    const ada = await node.signIn()
    t.equal((await put(ada, '/archive/a.txt', 'x')).status, 200)
    t.equal((await read(ada, '/archive/a.txt')).status, 200)
    await server.kill()
    await server.start()
  })

  t.test('the command tells in plain words what a server keeps', async (t) => {
    const config = await newBucket(server)
    const probe = async (changes: object) => {
      const file = join(t.testdir(), 'nodekeep.json')
      const { scanMinutes: _scan, profile: _profile, ...section } = { ...config, ...changes }
      await writeFile(file, JSON.stringify({ plugins: { 'storage-s3': true }, 'storage-s3': section }))
      return runCommand(['storage-s3', 'probe', '--config', file], { cwd: import.meta.dirname })
    }
    const good = await probe({})
    t.equal(good.code, 0, good.stderr)
    t.match(good.stdout, /Files are safe here\./)
    proxy.disturb({ ignoreConditions: true })
    const ignoring = await probe({ endpoint: proxy.endpoint })
    proxy.disturb({ status: 501, code: 'NotImplemented' }, copies)
    const unsafe = await probe({ endpoint: proxy.endpoint })
    proxy.reset()
    t.equal(unsafe.code, 1)
    t.match(unsafe.stdout, /NO.*could not move files/s)
    t.match(unsafe.stderr, /Files are not safe on this server/)
    t.equal(ignoring.code, 0)
    t.match(ignoring.stdout, /NO.*the later one wins/s)
    const missing = await probe({ bucket: 'no-such-bucket' })
    t.equal(missing.code, 1)
    t.match(missing.stderr, /The server has no bucket "no-such-bucket"/)
    t.notMatch(`${missing.stderr}${good.stdout}`, /secret-of/)
  })
})

t.test('a configuration that cannot work is refused with the name of its key', async (t) => {
  const base = { bucket: 'files', accessKeyId: 'KEY', secretAccessKey: 'SECRET' }
  for (const [changes, message] of [
    [
      { endpoint: 'http://s3.example.org' },
      /storage-s3\.endpoint must be an https address: over http, .* your files/,
    ],
    [{ secretAccessKey: undefined }, /needs both accessKeyId and secretAccessKey/],
    [{ credentialsFile: './keys' }, /from accessKeyId or from credentialsFile/],
    [{ bucket: undefined }, /storage-s3\.bucket/],
    [{ prefix: 'no-slash' }, /storage-s3\.prefix/],
  ] as const) {
    const section = JSON.parse(JSON.stringify({ ...base, ...changes }))
    await t.rejects(createS3Node(section), message)
  }
})
