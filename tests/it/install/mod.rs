//! `heartbeat-install`, with stand-ins for the programs that it talks to.

mod check;
mod cron;
mod heartbeat;
mod killed;
mod openclaw;
mod place;
mod plugin;
mod systemd;
