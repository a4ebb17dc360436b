import { isLoopback } from '@nodekeep/plugin-sdk/loopback'

/** Whether the browser reaches the node at an address that only this computer can use. */
export function isThisComputer(): boolean {
  return isLoopback(location.hostname)
}
