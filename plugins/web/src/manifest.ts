/** The address of the app on a device, and of the icons beside it. */
export const manifestAddress = '/web/manifest.webmanifest'

/**
 * Returns the manifest of the installed app (https://www.w3.org/TR/appmanifest/). Phones offer the app as a target for files
 * (https://w3c.github.io/web-share-target/): the service worker of the pages takes them.
 *
 * @param name the name of the node, which stands below the icon of the app
 */
export function manifestOf(name: string): object {
  const png = (file: string, side: number, purpose = 'any') => ({
    src: `/web/${file}`,
    sizes: `${side}x${side}`,
    type: 'image/png',
    purpose,
  })
  const accept = ['image/*', 'video/*', 'audio/*', 'text/*', 'application/*']
  return {
    id: '/',
    name,
    short_name: name,
    description: 'Your own cloud: your files, photos and chats, on a computer of yours.',
    start_url: '/',
    scope: '/',
    display: 'standalone',
    theme_color: '#f7f7f5',
    background_color: '#f7f7f5',
    icons: [
      png('icon-192.png', 192),
      png('icon-512.png', 512),
      png('maskable-icon.png', 512, 'maskable'),
      { src: '/web/icon.svg', sizes: 'any', type: 'image/svg+xml' },
    ],
    share_target: {
      action: '/share',
      method: 'POST',
      enctype: 'multipart/form-data',
      params: { files: [{ name: 'files', accept }] },
    },
  }
}
