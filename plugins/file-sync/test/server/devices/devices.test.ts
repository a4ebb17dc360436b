import { test } from 'tap'
import { begin, connect } from '../../fixtures/sync-client.ts'
import { createSyncNode, send, withToken } from '../../fixtures/sync-node.ts'

const list = async (user: Parameters<typeof send>[0]) =>
  (await send(user, 'GET', '/api/sync/devices')).body.devices

test('devices are listed and removed', async (t) => {
  const events: Record<string, unknown>[] = []
  const onLog = (line: string) => {
    if (line.includes('"device-')) events.push(JSON.parse(line))
  }
  const node = await createSyncNode({ onLog })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  const [laptop, phone] = [await connect(t, node, ada), await connect(t, node, ada)]
  const { device } = await begin(laptop)
  await begin(phone, 'phone')
  const byName = (one: { name: string }, other: { name: string }) => one.name.localeCompare(other.name)
  t.match((await list(ada)).sort(byName), [
    { id: device, name: 'laptop', connected: true },
    { name: 'phone', connected: true },
  ])
  const grace = await node.signIn()
  t.same(await list(grace), [])
  t.match(await send(grace, 'DELETE', `/api/sync/devices/${device}`), { status: 404 }, 'that of another user')

  t.match(await send(ada, 'DELETE', `/api/sync/devices/${device}`), { status: 200 })
  t.match(await laptop.next('error'), { error: { code: 'NOT_FOUND' } })
  await laptop.closed
  t.match(await list(ada), [{ name: 'phone', connected: true }])
  t.match(await send(ada, 'DELETE', `/api/sync/devices/${device}`), { status: 404 })
  const { uuid: userUuid, username: user } = ada.user
  t.match(events, [
    { event: 'device-added', ip: String, user, userUuid, device, name: 'laptop' },
    { event: 'device-added', name: 'phone' },
    { event: 'device-removed', ip: String, user, userUuid, device, name: 'laptop' },
  ])
  const again = await connect(t, node, ada)
  again.say({ type: 'hello', protocol: 1, device })
  t.match(await again.next('error'), { error: { code: 'NOT_FOUND' } })
})

test('a newer connection of a device replaces the older one', async (t) => {
  const node = await createSyncNode()
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  const older = await connect(t, node, ada)
  const { device, epoch, cursor } = await begin(older)
  const newer = await connect(t, node, ada)
  newer.say({ type: 'hello', protocol: 1, device, epoch, cursor })
  await newer.next('welcome')
  t.match(await older.next('error'), { error: { code: 'CONFLICT' } })
  await older.closed
  t.match(await list(ada), [{ id: device, connected: true }])
  newer.close()
})

test('nobody speaks for the device of another', async (t) => {
  const node = await createSyncNode()
  t.teardown(() => node.stop())
  const [ada, grace] = [await node.signIn(), await node.signIn()]
  const token = await withToken(node, ada, ['files:read'])
  const { device } = await begin(await connect(t, node, ada))
  const { device: ofToken } = await begin(await connect(t, node, token), 'phone')
  const ask = async (user: { token: string }, id: string) => {
    const client = await connect(t, node, user)
    client.say({ type: 'hello', protocol: 1, device: id })
    return (await client.next('error')).error.code
  }
  t.equal(await ask(grace, device), 'NOT_FOUND', 'another user')
  t.equal(await ask(ada, 'unknown'), 'NOT_FOUND')
  t.equal(await ask(token, device), 'FORBIDDEN', 'a token, for the device of a session')
  t.match(await send(token, 'DELETE', `/api/sync/devices/${device}`), { status: 403 })
  const session = await connect(t, node, ada)
  session.say({ type: 'hello', protocol: 1, device: ofToken })
  t.equal((await session.next('welcome')).device, ofToken, 'a session acts for all devices of its user')
  t.match(await send(token, 'DELETE', `/api/sync/devices/${ofToken}`), { status: 200 })
})

test('a user has so many devices and no more', async (t) => {
  const node = await createSyncNode({ config: { 'file-sync': { devicesPerUser: 1 } } })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  await begin(await connect(t, node, ada))
  const second = await connect(t, node, ada)
  second.say({ type: 'hello', protocol: 1, name: 'phone' })
  t.match(await second.next('error'), { error: { code: 'CONFLICT', message: /1 devices/ } })
  await begin(await connect(t, node, await node.signIn()))
})
