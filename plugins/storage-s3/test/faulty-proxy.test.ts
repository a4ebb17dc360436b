import { CreateBucketCommand, GetObjectCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3'
import t from 'tap'
import { faultyProxy } from './fixtures/faulty-proxy.ts'
import { needsS3Server, s3Server } from './fixtures/s3-server.ts'

t.test('a proxy disturbs the requests to an S3 server', { skip: needsS3Server }, async (t) => {
  const server = await s3Server()
  t.teardown(() => server.stop())
  const proxy = await faultyProxy(server)
  t.teardown(() => proxy.close())
  const { accessKeyId, secretAccessKey, region } = server
  const client = new S3Client({
    endpoint: proxy.endpoint,
    region,
    credentials: { accessKeyId, secretAccessKey },
    forcePathStyle: true,
    maxAttempts: 1,
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
  })
  t.teardown(() => client.destroy())
  const object = { Bucket: 'bucket', Key: 'a folder/ä+file' }
  const content = '0123456789'.repeat(10)
  const put = (Body: string, conditions: { IfNoneMatch?: string } = {}, abortSignal?: AbortSignal) =>
    client.send(new PutObjectCommand({ ...object, Body, ...conditions }), {
      ...(abortSignal && { abortSignal }),
    })
  const get = async (abortSignal?: AbortSignal) => {
    const { Body } = await client.send(new GetObjectCommand(object), { ...(abortSignal && { abortSignal }) })
    return Body?.transformToString()
  }
  await client.send(new CreateBucketCommand({ Bucket: object.Bucket }))
  t.beforeEach(() => proxy.reset())

  await t.test('it records them', async (t) => {
    await put(content)
    t.equal(await get(), content)
    t.match(proxy.requests, [
      { method: 'PUT', key: object.Key, sent: content.length, status: 200 },
      { method: 'GET', key: object.Key, answered: content.length, status: 200 },
    ])
    t.equal(proxy.requests[1]?.query.get('x-id'), 'GetObject')
  })

  await t.test('it answers by itself, and only those that match', async (t) => {
    proxy.disturb({ status: 503, code: 'SlowDown' }, { method: 'GET', key: /file$/, skip: 1, count: 1 })
    await put(content)
    t.equal(await get(), content)
    await t.rejects(get(), { name: 'SlowDown' })
    t.equal(await get(), content)
    const { end } = proxy.disturb({ status: 429, headers: { 'retry-after': '1' } }, { query: 'x-id' })
    t.match(await get().catch(({ $metadata }) => $metadata), { httpStatusCode: 429 })
    end()
    t.equal(await get(), content)
  })

  await t.test('it cuts a request, of which the server stores nothing', async (t) => {
    proxy.disturb({ cut: 'request', after: 5 })
    await t.rejects(put('changed by the request'), { code: 'ECONNRESET' })
    t.equal(proxy.requests[0]?.sent, 5)
    proxy.reset()
    t.equal(await get(), content)
  })

  await t.test('it cuts an answer, of a request that the server performs', async (t) => {
    proxy.disturb({ cut: 'answer', after: 0 }, { method: 'PUT' })
    await t.rejects(put(`${content}!`), { code: 'ECONNRESET' })
    t.equal(await get(), `${content}!`)
    proxy.disturb({ cut: 'answer', after: 7 })
    await t.rejects(get(), { message: 'aborted' })
    t.equal(proxy.requests.at(-1)?.answered, 7)
  })

  await t.test('it goes silent', async (t) => {
    for (const cut of ['request', 'answer'] as const) {
      for (const after of [0, 7]) {
        const { hit } = proxy.disturb(
          { cut, after, isSilent: true },
          { method: cut === 'request' ? 'PUT' : 'GET' },
        )
        const control = new AbortController()
        const call = cut === 'request' ? put('sent into silence', {}, control.signal) : get(control.signal)
        const request = await hit
        control.abort()
        await t.rejects(call as Promise<unknown>, { name: 'AbortError' })
        t.ok(request.sent + request.answered <= after)
      }
    }
    proxy.reset()
    t.equal(await get(), `${content}!`)
  })

  await t.test('it lies about lengths', async (t) => {
    proxy.disturb({ addLength: 1 })
    await t.rejects(get(), { message: 'aborted' })
    proxy.disturb({ addLength: -1 })
    t.equal(await get(), content)
  })

  await t.test('it changes bytes, which the server notices where it knows their hash', async (t) => {
    proxy.disturb({ flip: 'answer', at: 1 })
    t.equal(await get(), `00${content.slice(2)}!`)
    proxy.disturb({ flip: 'request', at: 1 })
    await t.rejects(put(content), { name: 'XAmzContentSHA256Mismatch' })
  })

  await t.test('it ignores conditions', async (t) => {
    await t.rejects(put('conditional', { IfNoneMatch: '*' }), { name: 'PreconditionFailed' })
    proxy.disturb({ ignoreConditions: true })
    await put('conditional', { IfNoneMatch: '*' })
    t.equal(await get(), 'conditional')
  })

  await t.test('it delays, and refuses connections', async (t) => {
    proxy.disturb({ delayMs: 50 })
    const begin = performance.now()
    await get()
    t.ok(performance.now() - begin > 45)
    await proxy.refuse()
    await t.rejects(get(), { code: /^ECONN/ })
    await proxy.accept()
    t.equal(await get(), 'conditional')
  })
})
