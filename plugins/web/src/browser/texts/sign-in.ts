import { counted } from '../counted.ts'

export const signIn = {
  title: 'Sign in',
  accountTitle: 'Create an account',
  againTitle: 'Sign in again',
  again: 'Your session has ended. Sign in to go on where you are.',
  welcome: 'Welcome to your new node',
  welcomeText: 'It keeps your files, photos and chats on your own machine. The first account owns it.',
  claimCode: 'Claim code',
  claimHint: 'The node printed it when it started.',
  claimMissing: 'Enter the claim code. With it, this account becomes the owner of the node.',
  name: {
    title: 'What is your name?',
    explanation: 'The people of this node see it. You can change it later, on the page "Account".',
    agree: 'Continue',
    skip: 'Not now',
  },
  ask: {
    title: 'Ask the owner to let you in',
    explanation:
      'Only people whom the owner has let in can use this node. Say who you are, so that the owner knows you.',
    agree: 'Ask the owner',
    back: 'Other ways to sign in',
    sentTitle: 'The owner has your request',
    sent: 'When the owner has let you in, sign in here. You may close this page until then, and come back with the same browser.',
    sentAddress: 'The owner may ask you for your address. It is no secret:',
    byHand:
      'Only people whom the owner has let in can use this node. Send this address to the owner, who adds it on the page "Node", under "Users". Then sign in here.',
    signIn: 'Sign in',
    notYet: 'The owner has not let you in yet.',
  },
  ways: {
    key: 'I have a password',
    wallet: 'I have a wallet',
    account: 'I am new here',
    code: 'I have a sign-in code',
    import: 'I have a copy of my key',
    machine: 'I am at the machine of the node',
    backup: 'I have a backup',
  },
  restored: (date: string) => `Your node is back, as it was on ${date}. Sign in as you did then.`,
  restore: {
    title: 'Bring back a backup',
    explanation:
      'The backup is uploaded to this node and read. You see what is in it before anything changes.',
    file: 'Backup, such as "backup-20261120-123456.tar.gz"',
    noBackup: 'This file is no backup. Choose a file that is named like "backup-20261120-123456.tar.gz".',
    newIdentity: 'The old node still runs elsewhere: give this one a new identity',
    uploading: 'The backup is uploaded',
    sent: (sent: string, all: string) => `${sent} of ${all}`,
    broken: 'The connection broke off. Choose the backup again.',
    unlockTitle: 'This backup is encrypted',
    unlockText: (date: string) =>
      `It is of ${date}. Type its recovery key, which begins with "AGE-SECRET-KEY-1".`,
    key: 'Recovery key',
    unlock: 'Open the backup',
    reading: 'The backup is read and checked',
    readingText: 'This may take some minutes.',
    found: (date: string) => `Everything as it was on ${date}`,
    people: (count: number, names: string) =>
      `${counted(count, 'person comes back', 'people come back')}: ${names}`,
    owner: (name: string) => `The owner is ${name}.`,
    noOwner: 'The node of the backup had no owner.',
    sameSignIn:
      'Everybody signs in as before. If the pages had another address then, you need your copy of the key, since a browser keeps a key for one address only.',
    agree: 'Bring it all back',
    restarting: 'The node restarts with your backup',
    follows: 'This page goes on when the node is back.',
    restartTitle: 'Now restart the node',
    restartText:
      'Where you started the node, press Ctrl+C and start it again. It brings the backup back then, and this page goes on.',
    waiting: 'Waiting for the node',
  },
  elsewhere: (hasCodes: boolean) =>
    `Do you have a name and a password? The password works in the browser in which you made your account. Here, use ${hasCodes ? 'a sign-in code, which you make there, or ' : ''}your copy of the key.`,
  with: (name: string) => `Sign in with ${name}`,
  anyWallet: 'the wallet of this browser',
  inWallet: 'Confirm the sign-in in your wallet.',
  declined: 'You declined in your wallet. Nothing happened.',
  walletFailed: (reason: string) => `Your wallet refused: ${reason}`,
  command:
    'With access to the machine, you need no wallet in a browser. This command makes a session for curl and scripts. From a checkout, it begins with "npm start --" in place of "nodekeep":',
  failed: 'The sign-in failed. Try again.',
}
