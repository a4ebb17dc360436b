import { ModelDevice } from './model-device.ts'
import { ModelNode } from './model-node.ts'
import { SimulatedTime } from './simulated-time.ts'

/**
 * A world in which nothing happens by chance. A request arrives after 100 ms, and its answer after another 100 ms. A change on the
 * disk is hinted after 100 ms. An operation of the disk takes 2.5 ms.
 *
 * @param latency milliseconds that a request and its answer take together
 */
export function createQuietWorld({ latency = 200 }: { readonly latency?: number } = {}) {
  const steps: string[] = []
  const world = {
    time: new SimulatedTime(),
    node: new ModelNode(),
    faults: { network: 0, watch: 0 },
    random: () => 0.5,
    latency,
    log: (line: string) => void steps.push(line),
  }
  const devices: ModelDevice[] = []
  return {
    ...world,
    /** The steps of the devices, such as `one: upload /a`. */
    steps,
    /** Adds a device that runs. */
    device(name = 'one'): ModelDevice {
      const device = new ModelDevice(name, world, { isCaseSensitive: true, skew: 0 })
      devices.push(device)
      device.start()
      return device
    },
    /** Lets some milliseconds go by. */
    async pass(ms: number): Promise<void> {
      await world.time.pass(ms)
      for (const device of devices) device.check()
    },
  }
}
