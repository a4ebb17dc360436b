import { definePlugin, FileIndex, Type } from '@nodekeep/plugin-sdk'
import { History } from './history.ts'
import { Meter } from './meter.ts'
import { historyRoutes } from './routes.ts'

/** The plugin `node-history`: the storage and load of the node over the last days and months, kept small. */
export default definePlugin({
  id: 'node-history',
  description: 'Remembers how full and how busy the node was, for the small plots on the page "Node".',
  config: Type.Object({
    measureSeconds: Type.Integer({
      default: 300,
      minimum: 1,
      maximum: 3600,
      description: 'Time between two measurements, in seconds.',
    }),
  }),
  optional: { index: FileIndex },
  setup({ config, index, nodeDataDir, state, log, routes, onServing, onStop }) {
    const history = new History(state, log)
    onServing(async () => {
      await history.load()
      const meter = new Meter(nodeDataDir, index)
      const measure = async () => history.add(await meter.measure(), Date.now())
      let last = measure()
      const timer = setInterval(() => {
        last = last.then(measure)
      }, config.measureSeconds * 1000)
      timer.unref()
      onStop(async () => {
        clearInterval(timer)
        await last.then(measure)
        meter.end()
        await history.store()
      })
    })
    routes((app) => historyRoutes(app, history), { prefix: '/api/node-history' })
  },
})
