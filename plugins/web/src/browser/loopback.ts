/** Whether only this computer reaches the node at the address that the browser uses. */
export function isLoopback(): boolean {
  return /^(localhost|127\..*|\[::1\])$/.test(location.hostname)
}
