/** The steps to connect an app on each system. Some of them have a command or an address to copy. */
type Systems = readonly {
  readonly name: string
  readonly steps: readonly { readonly text: string; readonly code?: string }[]
}[]

export const connectApp = {
  title: 'Connect an app',
  explanation:
    'The file manager of a computer, an app on a phone and a backup program open your files by WebDAV. They need an address, a user name and a password.',
  access: 'What the app asks for',
  address: 'Address',
  copyAddress: 'Copy the address of the files',
  username: 'User name',
  password: 'Password',
  passwordText:
    'Make a password for each app. It opens your files and nothing else. It is an API token: one that is not used for long ends by itself, and you can revoke it on the page',
  app: 'Name of the app',
  appExample: 'Files on my laptop',
  make: 'Make a password',
  yourPassword: 'The password of the app. It is shown only once',
  thisMachine:
    'The address that you use here leads only this computer to the node. For an app on another device, open this page there.',
  unencrypted:
    'This address is not encrypted: everybody on the way can read the password, and Windows refuses it. Use an https address of the node if it has one.',
  steps: 'Steps',
  /** The steps for each system, with commands for a terminal. */
  systems: (address: string, username: string): Systems => [
    {
      name: 'Windows',
      steps: [
        { text: 'In the Explorer, right-click "This PC" and choose "Map network drive".' },
        {
          text: 'Paste the address as the folder, check "Connect using different credentials", and choose "Finish".',
        },
        { text: 'Enter the user name and the password, and check "Remember my credentials".' },
        {
          text: 'Windows takes https addresses only, and files of at most 50 MB. As an administrator, you allow 4 GB. Then restart Windows.',
          code: 'reg add HKLM\\SYSTEM\\CurrentControlSet\\Services\\WebClient\\Parameters /v FileSizeLimitInBytes /t REG_DWORD /d 0xffffffff /f',
        },
      ],
    },
    {
      name: 'Mac',
      steps: [
        { text: 'In the Finder, press Cmd+K, paste the address, and choose "Connect".' },
        { text: 'Choose "Registered User", and enter the user name and the password.' },
      ],
    },
    {
      name: 'Linux: GNOME, KDE',
      steps: [
        {
          text: 'In the "Files" of GNOME, open "Other Locations" or "Network". Enter this as the address of a server:',
          code: address.replace('http', 'dav'),
        },
        {
          text: 'In the Dolphin of KDE, enter this in the line of the address:',
          code: address.replace('http', 'webdav'),
        },
        { text: 'Enter the user name and the password.' },
      ],
    },
    {
      name: 'Linux: a folder of the system',
      steps: [
        { text: 'Install davfs2. On Debian and Ubuntu:', code: 'sudo apt install davfs2' },
        {
          text: 'Mount the files, and enter the user name and the password:',
          code: `mkdir -p ~/Nodekeep\nsudo mount -t davfs -o uid=$(id -u),gid=$(id -g) ${address} ~/Nodekeep`,
        },
      ],
    },
    {
      name: 'Android',
      steps: [
        {
          text: 'Install a file manager that opens WebDAV, such as Material Files, or DAVx⁵, which shows the files in all apps ("WebDAV mounts").',
        },
        { text: 'Add a WebDAV server with the address, the user name and the password.' },
      ],
    },
    {
      name: 'iPhone and iPad',
      steps: [
        { text: 'Install an app that opens WebDAV, such as Documents or FE File Explorer.' },
        { text: 'Add a WebDAV connection with the address, the user name and the password.' },
      ],
    },
    {
      name: 'rclone, for backups and copies',
      steps: [
        {
          text: 'Add the node. With the vendor "owncloud", rclone keeps the times of files.',
          code: `rclone config create nodekeep webdav url=${address} vendor=owncloud user=${username}`,
        },
        {
          text: 'Run this, choose "nodekeep", edit it, and paste the password where it asks for it:',
          code: 'rclone config',
        },
        { text: 'Copy a folder:', code: 'rclone copy ~/Pictures nodekeep:Pictures' },
      ],
    },
    {
      name: 'Notes, passwords and references',
      steps: [
        {
          text: 'Joplin: choose WebDAV as the target of the synchronization, with the address of a folder that is there:',
          code: `${address}Joplin`,
        },
        { text: 'KeePass: open the database by its address:', code: `${address}Passwords.kdbx` },
        { text: 'Zotero: choose WebDAV to sync files. It adds "zotero" to the address by itself.' },
      ],
    },
  ],
  phone: 'On a phone',
  qr: 'The address of this page, as a QR code',
  phoneText:
    'Scan it with the camera of the phone. It opens this page there: sign in, make a password, and paste it into the app.',
}
