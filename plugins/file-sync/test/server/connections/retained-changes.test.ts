import { join } from 'node:path'
import type { AuthenticatedUser, ChangeLog } from '@nodekeep/plugin-sdk'
import { test } from 'tap'
import { RetainedChanges } from '../../../src/server/connections/retained-changes.ts'
import { Devices } from '../../../src/server/devices/devices.ts'

test('the journal keeps what the slowest device of a user has not stored', async (t) => {
  const devices = new Devices(join(t.testdir(), 'devices.sqlite'), 10)
  t.teardown(() => devices.close())
  const user = { uuid: 'ada', sessionId: 's', scopes: null } as unknown as AuthenticatedUser
  const kept: unknown[] = []
  const followed: string[] = []
  const changes: Pick<ChangeLog, 'epoch' | 'retainFrom' | 'follow'> = {
    epoch: 'now',
    retainFrom: async (...call) => void kept.push(call),
    follow: async (userUuid) => void followed.push(userUuid),
  }
  const log = { warn: (fields: unknown) => t.fail(JSON.stringify(fields)) }
  const { signal } = new AbortController()
  const keeper = new RetainedChanges(changes as ChangeLog, devices, log as never, signal)

  const [laptop, phone] = [devices.create(user, 'laptop'), devices.create(user, 'phone')]
  devices.store(laptop.id, { epoch: 'now', cursor: 7 })
  devices.store(phone.id, { epoch: 'now', cursor: 5 })
  await keeper.send()
  t.same(kept.splice(0), [], 'nothing is new')
  keeper.mark('ada')
  await keeper.send()
  t.same(kept.splice(0), [['ada', 'file-sync', 5]])
  devices.store(phone.id, { epoch: 'before', cursor: 5 })
  await keeper.sendAll()
  t.same(kept.splice(0), [['ada', 'file-sync', 7]], 'a device of another epoch must list all files anyway')
  t.same(followed.splice(0), ['ada'])
  devices.store(laptop.id, { epoch: 'before', cursor: 7 })
  await keeper.sendAll()
  t.same(kept.splice(0), [['ada', 'file-sync', null]])
  t.same(followed, [], 'nobody needs the changes')
  for (const { id } of [laptop, phone]) devices.remove(id)
  keeper.mark('ada')
  await keeper.send()
  t.same(kept, [['ada', 'file-sync', null]])
})
