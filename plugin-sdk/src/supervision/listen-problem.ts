/** Returns the sentence about an address that cannot be listened on. */
export function listenProblem({ code, message }: NodeJS.ErrnoException, host: string, port: number): string {
  switch (code) {
    case 'EADDRINUSE':
      return `Port ${port} of ${host} is in use. Stop the program that uses it, or choose another port with --port.`
    case 'EACCES':
      return `This user may not listen on port ${port}. Choose a port above 1023 with --port.`
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `This machine has no address "${host}". Choose another address with --host.`
    default:
      return `The node cannot listen on ${host}, port ${port}: ${message}`
  }
}
