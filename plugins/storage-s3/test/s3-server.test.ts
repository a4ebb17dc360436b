import { CreateBucketCommand, GetObjectCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3'
import t from 'tap'
import { needsS3Clock, needsS3Server, type S3Keys, s3Server } from './fixtures/s3-server.ts'

t.test('an S3 server keeps its objects when its gateway is killed', { skip: needsS3Server }, async (t) => {
  const server = await s3Server()
  t.teardown(() => server.stop())
  const clientOf = ({ accessKeyId, secretAccessKey }: S3Keys) => {
    const client = new S3Client({
      endpoint: server.endpoint,
      region: server.region,
      credentials: { accessKeyId, secretAccessKey },
      forcePathStyle: true,
      maxAttempts: 1,
    })
    t.teardown(() => client.destroy())
    return client
  }
  const object = { Bucket: 'bucket', Key: 'file' }
  const client = clientOf(server)
  await client.send(new CreateBucketCommand({ Bucket: 'bucket' }))
  await client.send(new PutObjectCommand({ ...object, Body: 'hello' }))
  const read = async (client: S3Client) =>
    (await client.send(new GetObjectCommand(object))).Body?.transformToString()

  await server.kill()
  await t.rejects(read(client), { code: 'ECONNREFUSED' })
  await server.start()
  t.equal(await read(client), 'hello')
  await client.send(new CreateBucketCommand({ Bucket: 'another' }))

  const stranger = clientOf(server.stranger)
  await t.rejects(read(stranger), { name: 'AccessDenied' })
  await t.rejects(stranger.send(new CreateBucketCommand({ Bucket: 'third' })), { name: 'AccessDenied' })

  await t.test('and runs with another clock', { skip: needsS3Clock }, async (t) => {
    await server.kill()
    await server.start({ clockOffset: 3600 })
    await t.rejects(read(client), { name: 'RequestTimeTooSkewed' })
  })
})
