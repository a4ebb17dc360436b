import { randomBytes } from 'node:crypto'
import { concurrently, isNodekeepError, type StorageBackend } from '@nodekeep/plugin-sdk'
import t from 'tap'
import { copyObject } from '../src/objects/copy.ts'
import { objectOf } from '../src/objects/object.ts'
import { removeUnfinishedUploads } from '../src/objects/unfinished-uploads.ts'
import { connect } from '../src/server/connect.ts'
import { faultyProxy } from './fixtures/faulty-proxy.ts'
import { chunks, newBucket, openBucket, probed } from './fixtures/s3-bucket.ts'
import { needsS3Server, s3Server } from './fixtures/s3-server.ts'

const mebibyte = 2 ** 20

t.test('files survive what a network and a server do wrong', { skip: needsS3Server }, async (t) => {
  const server = await s3Server()
  t.teardown(() => server.stop())
  const proxy = await faultyProxy(server)
  t.teardown(() => proxy.close())
  const direct = await newBucket(server)
  const config = { ...direct, endpoint: proxy.endpoint }
  const found = await probed(config)
  const backend = openBucket(config, found)
  t.teardown(() => backend.close())
  const s3 = await connect(direct)
  t.teardown(() => s3.destroy())
  t.afterEach(() => proxy.reset())

  const bytesOf = async (path: string, range: { start?: number; end?: number } = {}) => {
    const { content } = await backend.read(path, range)
    return Buffer.concat(await Array.fromAsync(content))
  }
  const codeOf = (promise: Promise<unknown>) =>
    promise.then(
      () => 'done',
      (error: unknown) => (isNodekeepError(error) ? error.code : `${error}`),
    )
  const keyOf = (path: string) => `${config.prefix}${path.slice(1)}`
  const large = randomBytes(9 * mebibyte)

  t.test('a reading that is cut goes on where it was', async (t) => {
    await backend.write('/cut', chunks(large))
    const before = proxy.requests.length
    proxy.disturb({ cut: 'answer', after: 3 * mebibyte }, { method: 'GET', key: keyOf('/cut'), count: 2 })
    t.ok(large.equals(await bytesOf('/cut')))
    const ranges = proxy.requests.slice(before).map(({ headers }) => headers.range?.replace(/^bytes=/, ''))
    t.equal(ranges.length, 3)
    t.ok(Number.parseInt(ranges[1] ?? '', 10) > 0, 'the second request asks for the rest')
  })

  t.test('a reading whose file was changed during a cut has no bytes of two versions', async (t) => {
    await backend.write('/changed', chunks(large))
    const cut = proxy.disturb(
      { cut: 'answer', after: mebibyte },
      { method: 'GET', key: keyOf('/changed'), count: 1 },
    )
    const { content } = await backend.read('/changed')
    await cut.hit
    await s3.putObject({ Bucket: config.bucket, Key: keyOf('/changed'), Body: randomBytes(large.length) })
    t.equal(await codeOf(Array.fromAsync(content)), 'CONFLICT')
  })

  t.test('a reading that is cut again and again without a byte ends', async (t) => {
    await backend.write('/endless', chunks('hello'))
    proxy.disturb({ cut: 'answer', after: 0 }, { method: 'GET', key: keyOf('/endless') })
    t.equal(await codeOf(bytesOf('/endless')), 'SERVICE_UNAVAILABLE')
  })

  t.test('a small file whose bytes were changed on the way is not read to its end', async (t) => {
    await backend.write('/flipped', chunks('hello'))
    proxy.disturb({ flip: 'answer', at: 2 }, { method: 'GET', key: keyOf('/flipped') })
    t.equal(await codeOf(bytesOf('/flipped')), 'SERVICE_UNAVAILABLE')
    proxy.reset()
    t.equal(`${await bytesOf('/flipped')}`, 'hello')
  })

  t.test('an upload whose bytes were changed on the way is not stored', async (t) => {
    for (const [path, content] of [
      ['/changed-small', Buffer.from('hello')],
      ['/changed-large', large],
    ] as const) {
      proxy.disturb({ flip: 'request', at: 1 }, { method: 'PUT', key: keyOf(path) })
      t.equal(await codeOf(backend.write(path, chunks(content))), 'SERVICE_UNAVAILABLE')
      t.equal(await codeOf(backend.stat(path)), 'NOT_FOUND')
    }
  })

  t.test('an answer that lies about its length is no file', async (t) => {
    await backend.write('/length', chunks('hello'))
    proxy.disturb({ addLength: 7 }, { method: 'GET', key: keyOf('/length') })
    t.equal(await codeOf(bytesOf('/length')), 'SERVICE_UNAVAILABLE')
  })

  for (const [status, code] of [
    [500, 'InternalError'],
    [503, 'SlowDown'],
    [429, 'TooManyRequests'],
    [503, undefined],
  ] as const) {
    t.test(`an answer ${status} ${code ?? 'without a body'} is tried again, but not for ever`, async (t) => {
      const answer = { status, ...(code !== undefined && { code }) }
      await backend.write('/again', chunks('before'))
      proxy.disturb(answer, { method: 'PUT', count: 1 })
      proxy.disturb(answer, { method: 'GET', count: 1 })
      await backend.write('/again', chunks('after'))
      t.equal(`${await bytesOf('/again')}`, 'after')
      proxy.disturb(answer)
      t.equal(await codeOf(backend.write('/again', chunks('lost'))), 'SERVICE_UNAVAILABLE')
      t.equal(await codeOf(backend.stat('/none')), 'SERVICE_UNAVAILABLE')
      t.equal(await codeOf(Array.fromAsync(backend.list('/'))), 'SERVICE_UNAVAILABLE')
      t.equal(await codeOf(backend.remove('/again')), 'SERVICE_UNAVAILABLE')
      proxy.reset()
      t.equal(`${await bytesOf('/again')}`, 'after')
    })
  }

  t.test('a write whose answer was lost is done, though the condition does not hold any more', async (t) => {
    proxy.disturb({ cut: 'answer', after: 0 }, { method: 'PUT', key: keyOf('/lost'), count: 1 })
    const { revision } = await backend.write('/lost', chunks('first'), { ifAbsent: true, size: 5 })
    t.equal((await backend.stat('/lost')).revision, revision)
    proxy.disturb({ cut: 'answer', after: 0 }, { method: 'POST', query: 'uploadId', count: 1 })
    const size = large.length
    const { revision: next } = await backend.write('/lost', chunks(large), { ifRevision: revision, size })
    t.equal((await backend.stat('/lost')).revision, next)
  })

  t.test('a write whose answers are lost, with no answer afterwards, may have happened', async (t) => {
    const lost = proxy.disturb({ cut: 'answer', after: 0 }, { method: 'PUT', count: 1 })
    const write = backend.write('/unclear', chunks('mine'), { ifAbsent: true })
    const failure = write.catch((error: unknown) => error)
    await lost.hit
    proxy.disturb({ status: 500, code: 'InternalError' }, { method: 'HEAD' })
    t.match(await failure, { code: 'SERVICE_UNAVAILABLE', cause: { name: 'TimeoutError' } })
    proxy.reset()
    t.equal(`${await bytesOf('/unclear')}`, 'mine')
  })

  t.test('a caller that leaves during the last step does not make its outcome unknown', async (t) => {
    await backend.write('/source-left', chunks('copied'))
    const calls = [
      ['/left', 'PUT', (signal: AbortSignal) => backend.write('/left', chunks('stored'), { signal })],
      [
        '/left-large',
        'POST',
        (signal: AbortSignal) => backend.write('/left-large', chunks(large), { signal }),
      ],
      [
        '/left-copy',
        'PUT',
        (signal: AbortSignal) => backend.copy?.('/source-left', '/left-copy', { signal }),
      ],
    ] as const
    for (const [path, method, call] of calls) {
      const client = new AbortController()
      const query = method === 'POST' ? { query: 'uploadId' } : {}
      const asked = proxy.disturb({ delayMs: 300 }, { method, key: keyOf(path), ...query })
      const change = call(client.signal)
      await asked.hit
      client.abort()
      t.equal((await backend.stat(path).catch(() => null))?.revision, undefined)
      t.equal((await change)?.revision, (await backend.stat(path)).revision)
      proxy.reset()
    }
  })

  t.test('the parts of an upload stay while the server may still complete it', async (t) => {
    proxy.disturb({ status: 504 }, { method: 'POST', query: 'uploadId' })
    const failure = await backend.write('/completed', chunks(large)).catch((error: unknown) => error)
    t.match(failure, { code: 'SERVICE_UNAVAILABLE', cause: { name: 'TimeoutError' } })
    t.notOk(proxy.requests.some(({ method }) => method === 'DELETE'))
    const { Uploads = [] } = await s3.listMultipartUploads({ Bucket: config.bucket })
    t.equal(Uploads.length, 1)
    const { Key, UploadId } = Uploads[0] ?? {}
    await s3.abortMultipartUpload({ Bucket: config.bucket, Key, UploadId })
  })

  t.test('an answer of something else than an S3 server stores, removes and shows nothing', async (t) => {
    await backend.write('/other', chunks('before'))
    for (const [requests, call] of [
      [{ method: 'POST', query: 'uploads' }, () => backend.write('/other', chunks(large))],
      [{ method: 'PUT' }, () => backend.write('/other', chunks('after'))],
      [{ method: 'HEAD' }, () => backend.stat('/other')],
      [{ method: 'GET' }, () => bytesOf('/other')],
    ] as const) {
      proxy.disturb({ status: 200 }, requests)
      t.equal(await codeOf(call()), 'SERVICE_UNAVAILABLE')
      proxy.reset()
      t.equal(`${await bytesOf('/other')}`, 'before')
    }
  })

  t.test('a copy of a file that is changed at the same moment can be read', async (t) => {
    await backend.write('/source', chunks('first'))
    const copied = proxy.disturb({ delayMs: 500 }, { method: 'PUT', key: keyOf('/copy'), count: 1 })
    const copy = backend.copy?.('/source', '/copy')
    await copied.hit
    await s3.putObject({ Bucket: config.bucket, Key: keyOf('/source'), Body: 'other' })
    await copy
    t.equal(`${await bytesOf('/copy')}`, 'other')
  })

  t.test('a large copy has no bytes of two versions of its source', async (t) => {
    const at = (path: string) => ({ Bucket: config.bucket, Key: keyOf(path) })
    await s3.putObject({ ...at('/large-source'), Body: large })
    const source = objectOf(keyOf('/large-source'), await s3.headObject(at('/large-source')))
    const details = {
      revision: 'copied',
      created: new Date(),
      size: large.length,
      beforeCommit: async () => {},
    }
    const { signal } = new AbortController()
    const head = async () => null
    const copy = (destination: string) =>
      copyObject(s3, source, at(destination), { ...details, head, signal }, 5 * mebibyte)
    await copy('/large-copy')
    t.ok(large.equals(await bytesOf('/large-copy')))
    await s3.putObject({ ...at('/large-source'), Body: randomBytes(large.length) })
    t.equal(await codeOf(copy('/mixed-copy')), 'CONFLICT')
    t.equal(await codeOf(backend.stat('/mixed-copy')), 'NOT_FOUND')
  })

  t.test('of a large upload that fails nothing stays', async (t) => {
    proxy.disturb({ status: 500, code: 'InternalError' }, { method: 'PUT', query: 'partNumber', skip: 1 })
    t.equal(await codeOf(backend.write('/failed', chunks(large, large))), 'SERVICE_UNAVAILABLE')
    const { Uploads = [] } = await s3.listMultipartUploads({ Bucket: config.bucket })
    t.strictSame(Uploads, [])
    t.equal(await codeOf(backend.stat('/failed')), 'NOT_FOUND')
  })

  t.test('an upload without an end is removed when it is old', async (t) => {
    const place = { Bucket: config.bucket, Prefix: config.prefix }
    for (let number = 0; number < 3; number += 1)
      await s3.createMultipartUpload({ Bucket: config.bucket, Key: keyOf(`/ä ${number}`) })
    await s3.createMultipartUpload({ Bucket: config.bucket, Key: 'others/kept' })
    const { signal } = new AbortController()
    t.equal(await removeUnfinishedUploads(s3, place, new Date(Date.now() - 60_000), signal), 0)
    t.equal(await removeUnfinishedUploads(s3, place, new Date(Date.now() + 60_000), signal), 3)
    const { Uploads = [] } = await s3.listMultipartUploads({ Bucket: config.bucket })
    t.strictSame(
      Uploads.map(({ Key }) => Key),
      ['others/kept'],
    )
  })

  t.test('a folder with more files than a server tells at a time is listed whole', async (t) => {
    const names = Array.from({ length: 1001 }, (_, index) => `${index}`)
    await concurrently(names, 16, async (name) => {
      await s3.putObject({ Bucket: config.bucket, Key: keyOf(`/thousand/${name}`) })
    })
    proxy.reset()
    t.strictSame(await namesIn(backend, '/thousand'), names.toSorted())
    t.equal(proxy.requests.length, 2)
  })

  t.test('objects of a probe that was cut off are removed by the next one when they are old', async (t) => {
    const Prefix = `${config.prefix}.nodekeep/probe/`
    const pageKeys = 5
    for (let number = 0; number <= pageKeys; number += 1)
      await s3.putObject({ Bucket: config.bucket, Key: `${Prefix}cut-off/${number}` })
    const left = async () => (await s3.listObjectsV2({ Bucket: config.bucket, Prefix })).KeyCount
    await probed(direct, { pageKeys })
    t.equal(await left(), pageKeys + 1, 'another node may be probing now')
    const twoDaysLater = Date.now() + 2 * 24 * 60 * 60_000
    t.intercept(Date, 'now', { value: () => twoDaysLater })
    await probed(direct, { pageKeys })
    t.equal(await left(), 0)
  })

  t.test('two nodes on one bucket see the files of each other, and never mix two writes', async (t) => {
    const nodes = [openBucket(direct, found), openBucket(direct, found)] as const
    t.teardown(() => Promise.all(nodes.map((node) => node.close())))
    const [one, other] = nodes
    const { revision } = await one.write('/shared/file', chunks('first'))
    t.equal((await other.stat('/shared/file')).revision, revision)
    t.strictSame(await namesIn(other, '/shared'), ['file'])
    await other.remove('/shared/file')
    t.equal(await codeOf(one.stat('/shared/file')), 'NOT_FOUND')

    const contents = nodes.map((_, index) => Buffer.alloc(large.length, index + 1))
    const writes = await Promise.all(
      nodes.map((node, index) => node.write('/shared/large', chunks(contents[index] as Buffer))),
    )
    const { entry, content } = await one.read('/shared/large')
    const winner = writes.findIndex((written) => written.revision === entry.revision)
    t.ok(contents[winner]?.equals(Buffer.concat(await Array.fromAsync(content))))

    for (const [path, conditions] of [
      ['/shared/new', { ifAbsent: true }],
      ['/shared/large', { ifRevision: entry.revision }],
    ] as const) {
      const texts = nodes.map((_, index) => `of node ${index}`)
      const outcomes = await Promise.all(
        nodes.map((node, index) =>
          codeOf(node.write(path, chunks(texts[index] ?? ''), { ...conditions, size: 9 })).then((code) => ({
            code,
            text: texts[index],
          })),
        ),
      )
      t.strictSame(outcomes.map(({ code }) => code).sort(), ['PRECONDITION_FAILED', 'done'])
      t.equal(`${await bytesOf(path)}`, outcomes.find(({ code }) => code === 'done')?.text)
    }
  })

  t.test('contents of every size around a part are stored as they are', async (t) => {
    for (const size of [0, 1, 8 * mebibyte - 1, 8 * mebibyte, 8 * mebibyte + 1, 16 * mebibyte]) {
      const content = randomBytes(size)
      const { size: stored } = await backend.write(
        '/size',
        chunks(content.subarray(0, 7), content.subarray(7)),
      )
      t.equal(stored, size)
      t.ok(content.equals(await bytesOf('/size')), `${size} bytes`)
    }
    const parts = proxy.requests.filter(({ query }) => query.has('partNumber'))
    t.strictSame(
      [...new Set(parts.map(({ headers }) => headers.connection))],
      ['keep-alive'],
      'parts share connections',
    )
    const { size } = (await backend.copy?.('/size', '/copy of size + ä')) ?? {}
    t.equal(size, 16 * mebibyte)
  })

  t.test('a listing that ends too early is no listing', async (t) => {
    await backend.write('/folder/file', chunks('x'))
    proxy.disturb({ cut: 'answer', after: 200 }, { method: 'GET', query: 'list-type' })
    t.equal(await codeOf(Array.fromAsync(backend.list('/folder'))), 'SERVICE_UNAVAILABLE')
    proxy.reset()
    // An answer of something else than an S3 server.
    proxy.disturb({ status: 200 }, { method: 'GET', query: 'list-type' })
    t.equal(await codeOf(Array.fromAsync(backend.list('/folder'))), 'SERVICE_UNAVAILABLE')
  })

  t.test('a path that is longer than a key may be is refused, and nothing is at it', async (t) => {
    const path = `/${Array.from({ length: 11 }, () => 'x'.repeat(100)).join('/')}`
    t.equal(await codeOf(backend.write(path, chunks('x'))), 'VALIDATION_ERROR')
    t.equal(await codeOf(backend.makeDirectory(path)), 'VALIDATION_ERROR')
    t.equal(await codeOf(backend.stat(path)), 'NOT_FOUND')
    t.equal(await codeOf(backend.read(path)), 'NOT_FOUND')
  })

  t.test('the memory of an upload does not grow with its size', async (t) => {
    const gibibyte = 2 ** 30
    const release = Promise.withResolvers<void>()
    let waiting = 0
    const content = async function* () {
      yield Buffer.from('x')
      waiting += 1
      await release.promise
    }
    const tooLarge = { size: 625 * gibibyte + 1 }
    t.equal(await codeOf(backend.write('/user/large', content(), tooLarge)), 'VALIDATION_ERROR')
    const paths = Array.from({ length: 4 }, (_, index) => `/user/${index}`)
    const uploads = paths.map((path) =>
      backend.write(path, content(), { size: 625 * gibibyte }).catch(() => {}),
    )
    while (waiting < 2) await new Promise(setImmediate)
    const small = await backend.write('/user/small', chunks('x'))
    t.equal(small.size, 1)
    t.equal(waiting, 2)
    release.resolve()
    await Promise.all(uploads)
  })

  t.test('many uploads at a time take the memory of some', async (t) => {
    const release = Promise.withResolvers<void>()
    let waiting = 0
    const content = async function* () {
      yield Buffer.alloc(6 * mebibyte, 1)
      waiting += 1
      await release.promise
    }
    const paths = Array.from({ length: 20 }, (_, index) => `/one-user/${index}`)
    const uploads = paths.map((path) => backend.write(path, content()))
    while (waiting < 16) await new Promise(setImmediate)
    t.equal(waiting, 16, 'one user has the memory of 16 parts')
    const other = await backend.write('/other-user/file', chunks('x'))
    t.equal(other.size, 1, 'another user does not wait for it')
    await backend.makeDirectory('/one-user/folder')
    release.resolve()
    await Promise.all(uploads)
    t.equal((await namesIn(backend, '/one-user')).length, 21)
  })
})

async function namesIn(backend: StorageBackend, path: string): Promise<string[]> {
  return (await Array.fromAsync(backend.list(path))).map(({ name }) => name)
}
