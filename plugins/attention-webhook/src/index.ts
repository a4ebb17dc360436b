import { setTimeout as delay } from 'node:timers/promises'
import { definePlugin, NodeAddress, NodeHealth, NodeInfo } from '@nodekeep/plugin-sdk'
import { configuration } from './configuration.ts'
import { createReceiver } from './receiver.ts'
import { Reports } from './reports.ts'
import { webhookRoutes } from './routes.ts'

/** The plugin `attention-webhook`: tells a program of the owner when the node needs them, and when it is well again. */
export default definePlugin({
  id: 'attention-webhook',
  description: 'Sends a message to a program of yours when the node needs you, and when it is well again.',
  config: configuration,
  requires: { health: NodeHealth, address: NodeAddress, info: NodeInfo },
  setup({ id, config, health, address, info, state, log, signal, routes, onServing, onStop }) {
    const { url, secret, checkSeconds } = config
    const command = `${info.command} ${id}`
    if (url === undefined) {
      routes((app) => webhookRoutes(app, null, command))
      return
    }
    if (secret === undefined)
      throw new Error(
        'The messages need a secret. Set "attention-webhook.secret" to what "nodekeep attention-webhook secret" prints.',
      )
    const pauseMs = checkSeconds * 1000
    const node = () => address.publicOrigins()[0] ?? address.local()?.origin ?? ''
    const receiver = createReceiver(url, secret)
    const reports = new Reports({ receiver, state, log, pauseMs, node })
    const watch = async () => {
      for (;;) {
        await delay(pauseMs, undefined, { signal, ref: false })
        try {
          await reports.look(await health.attention(), signal)
        } catch (err) {
          if (signal.aborted) return
          log.warn(
            { err },
            'It could not be found out, or stored, whether the receiver has to be told something.',
          )
        }
      }
    }
    let watching = Promise.resolve()
    onServing(() => {
      // The delay ends with an error when the plugin stops.
      watching = watch().catch(() => {})
    })
    onStop(() => watching)
    routes((app) => webhookRoutes(app, { receiver, reports, node }, command))
  },
})
