/**
 * Reads the address of a server in the forms that Ollama's own tools take: a URL, a name or address with or without a
 * port, or a port alone. Nothing at all is the usual address on this machine.
 *
 * @param section the configuration section, which complaints name
 * @throws Error when it is no address of a server
 */
export function serverHost(host: string, section: string): string {
  const text = host.trim().replace(/^:/, '127.0.0.1:')
  if (text === '') return ''
  const url = URL.parse(text.includes('://') ? text : `http://${text}`)
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new Error(`${section}.host must be an address, such as "http://127.0.0.1:11434" or "nas.local".`)
  }
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw new Error(`${section}.host must be an address without user, "?" and "#".`)
  }
  return text
}
