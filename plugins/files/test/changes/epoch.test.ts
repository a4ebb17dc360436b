import { definePlugin, Restores } from '@nodekeep/plugin-sdk'
import { test } from 'tap'
import { captureServices } from '../fixtures/captured-services.ts'
import { createFilesNode, put } from '../fixtures/files-node.ts'

/** Plans a restore that moves nothing. */
const restorer = definePlugin({
  id: 'restorer',
  requires: { restores: Restores },
  setup: ({ restores }) => restores.plan({ backup: 'a backup', takenAt: new Date(), moves: [] }),
})

test('the journal begins anew when the mounts changed, and after a restore', async (t) => {
  const dataFolder = t.testdir()
  const epochs: string[] = []
  const heads: number[] = []
  const start = async (mounts: Record<string, string>, others: ReturnType<typeof definePlugin>[] = []) => {
    const services = captureServices()
    const node = await createFilesNode({ mounts }, { dataFolder, plugins: [services.plugin, ...others] })
    const owner = await node.signIn('owner')
    epochs.push(services.changes.epoch)
    heads.push((await services.changes.head(owner.user.uuid)).seq)
    await put(owner, '/file', 'x')
    await node.stop()
  }
  await start({})
  await start({})
  t.equal(epochs[1], epochs[0])
  t.ok(Number(heads[1]) > 0)
  await start({ '/more': 'memory' })
  t.not(epochs[2], epochs[1], 'another mount hides or shows files')
  t.equal(heads[2], 0)
  await start({ '/more': 'memory' }, [restorer])
  t.equal(epochs[3], epochs[2])
  await start({ '/more': 'memory' })
  t.not(epochs[4], epochs[3], 'the files are those of the backup')
  await start({ '/more': 'memory' })
  t.equal(epochs[5], epochs[4], 'the restore was acknowledged')
})
